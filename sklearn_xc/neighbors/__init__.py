"""Classification by the nearest training rows and by the texts of labels."""
