"""Classification by the nearest training samples and by the texts of labels."""
