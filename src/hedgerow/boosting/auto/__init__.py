"""``n_estimators="auto"``: rounds, learning rate and the size of trees chosen from the data.

A few kinds of trees are tried on a part of the rows and judged by the rest; the best of them is
then fitted to all rows, slower, or several times with other draws of the columns.
"""

from hedgerow.boosting.auto.choice import Choice, Tried
from hedgerow.boosting.auto.members import Members, member_of, member_seeds
from hedgerow.boosting.auto.search import MOST_MEMBERS, Search, no_choice
from hedgerow.boosting.auto.settings import PLAIN, as_fitted, is_auto, settled

__all__ = [
    "MOST_MEMBERS",
    "PLAIN",
    "Choice",
    "Members",
    "Search",
    "Tried",
    "as_fitted",
    "is_auto",
    "member_of",
    "member_seeds",
    "no_choice",
    "settled",
]
