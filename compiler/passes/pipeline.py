"""The passes in their order, each with the reason why it stands where it stands."""

from __future__ import annotations

from streamq.compiler.passes.assign_watermarks import assign_watermarks
from streamq.compiler.passes.base import Pass
from streamq.compiler.passes.estimate import estimate
from streamq.compiler.passes.normalize import normalize
from streamq.compiler.passes.place_shedders import place_shedders
from streamq.compiler.passes.prune_columns import prune_columns
from streamq.compiler.passes.push_predicates import push_predicates
from streamq.compiler.passes.quality import quality
from streamq.compiler.passes.recover_columns import recover_columns
from streamq.compiler.passes.share_subplans import share_subplans
from streamq.compiler.passes.sift_regions import sift_regions

PIPELINE: tuple[Pass, ...] = (
    Pass("normalize", normalize, "all later passes see one form of each thing"),
    Pass("recover_columns", recover_columns, "before all that moves operators: what comes back is a matter of the source"),
    Pass("place_shedders", place_shedders, "before predicates move: a shedder sees all of its source"),
    Pass("estimate", estimate, "after shedders, which give weights; all else then is arithmetic"),
    Pass("quality", quality, "after estimates, which would scale the counts that it adds"),
    Pass("push_predicates", push_predicates, "before pruning, which then drops what only tests read"),
    Pass("sift_regions", sift_regions, "after pushing: the tests of a query stand directly above its shedders"),
    Pass("assign_watermarks", assign_watermarks, "after pushing: whether state is kept is known"),
    Pass("prune_columns", prune_columns, "after shedders, whose hash reads columns of its own"),
    Pass("share_subplans", share_subplans, "last: sharing is about the final shape"),
)
