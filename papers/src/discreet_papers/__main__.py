"""`python -m discreet_papers`: write docs/papers again from docs/results, after a change of wording.

Claims, pages and the index follow from the stored results, so no study is run and no plot is drawn.
"""

import json
from pathlib import Path

from discreet_papers import STUDIES
from discreet_papers.index import FILE, index

RESULTS, PAGES = Path("docs/results"), Path("docs/papers")

if __name__ == "__main__":
    for study in STUDIES.values():
        place = RESULTS / study.result
        result = json.loads(place.read_text("utf-8"))
        result["claims"] = study.claims(result)
        place.write_text(json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1) + "\n", "utf-8")
        (PAGES / study.page_file).write_text(study.page(result, "../results/"), "utf-8")
        print(PAGES / study.page_file)
    (PAGES / FILE).write_text(index(RESULTS), "utf-8")
