"""Functions inside of what `cli/test_answers.py` tests from outside."""


def test_predict_holds_few_rows_at_a_time(run, monkeypatch):
    from sklearn_xc.cli import _predict

    sizes, before = [], _predict.predict_topk

    def watched(model, X, *arguments, **options):
        sizes.append(len(X))
        return before(model, X, *arguments, **options)

    monkeypatch.setattr(_predict, "predict_topk", watched)
    run("predict", "tagger.sxc", "--batch", 10, stdin="soil\n" * 95)
    assert sizes == [10] * 9 + [5]
