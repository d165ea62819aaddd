"""``n_estimators="auto"``: rounds, learning rate and the size of trees chosen from the data.

A few kinds of trees are tried on a part of the rows and judged by the rest; the best of them is
then fitted to all rows, slower, or several times with other draws of the columns.
"""

from hedgerow._boosting.fit.auto.choice import Choice, Tried
from hedgerow._boosting.fit.auto.choosing import choose
from hedgerow._boosting.fit.auto.members import Members, member_of, member_seeds, rounds_of_several
from hedgerow._boosting.fit.auto.search import MOST_MEMBERS

__all__ = [
    "MOST_MEMBERS",
    "Choice",
    "Members",
    "Tried",
    "choose",
    "member_of",
    "member_seeds",
    "rounds_of_several",
]
