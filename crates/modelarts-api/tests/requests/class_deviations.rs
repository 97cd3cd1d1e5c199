//! Attributes whose type in the SDK differs from the type in the description, each with the reason.
//! The cited rows are in `openapi/SOURCES.md`.

use crate::classes::Difference;

/// Expected difference of one attribute. Types are spelled as in [`Difference`].
#[derive(Debug)]
pub struct Deviation {
    at: &'static str,
    theirs: &'static str,
    ours: &'static str,
    #[expect(dead_code, reason = "for the reader, and for the message of a failure")]
    why: &'static str,
}

impl Deviation {
    pub fn covers(&self, difference: &Difference) -> bool {
        (self.at, self.theirs, self.ours) == (&difference.at, &difference.theirs, &difference.ours)
    }
}

pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        at: "AlgorithmMetadata.id",
        theirs: "int",
        ours: "str",
        why: "D-02: the id of an algorithm is a UUID, which is no integer",
    },
    Deviation {
        at: "AlgorithmResponseAdvancedConfigAutoSearchSearchParams.discrete_values",
        theirs: "str",
        ours: "list[str]",
        why: "D-15: a list in requests and jobs",
    },
    Deviation {
        at: "AlgorithmResponseJobConfigRemoteConstraints.attributes",
        theirs: "list[dict(str, str)]",
        ours: "dict(str, object)",
        why: "a live test sends and reads one object whose values are lists: the row on attributes \
              of a constraint",
    },
    Deviation {
        at: "RemoteConstraint.attributes",
        theirs: "list[dict(str, str)]",
        ours: "dict(str, object)",
        why: "as above",
    },
    Deviation {
        at: "AlgorithmResponseMetadata.tags",
        theirs: "list[dict(str, str)]",
        ours: "list[AlgorithmTag]",
        why: "a live test has a key and a value: the row on tags of algorithms",
    },
    Deviation {
        at: "CreateTrainJobTagsResponse.tags",
        theirs: "list[TmsTagResp]",
        ours: "",
        why: "D-35: a 204 cannot carry a body",
    },
    Deviation {
        at: "DeleteTrainJobTagsResponse.body",
        theirs: "str",
        ours: "",
        why: "D-35: a 204 cannot carry a body",
    },
    Deviation { at: "Disk.size", theirs: "str", ours: "int or str", why: "D-08: the SDK has both" },
    Deviation {
        at: "DiskResponse.size",
        theirs: "int",
        ours: "int or str",
        why: "D-08: the SDK has both",
    },
    Deviation {
        at: "FtMetric.data",
        theirs: "object",
        ours: "list[object]",
        why: "the text of the SDK calls it a list: the row on fine-tuning",
    },
    Deviation {
        at: "JobAlgorithmResponse.environments",
        theirs: "list[dict(str, str)]",
        ours: "dict(str, str)",
        why: "D-07: a live test reads an object",
    },
    Deviation {
        at: "ListAutoSearchTrialsItems.data",
        theirs: "list[list[str]]",
        ours: "list[list[object]]",
        why: "D-10: one cell is an object",
    },
    Deviation {
        at: "ShowAutoSearchParamsAnalysisResponse.data",
        theirs: "list[list[str]]",
        ours: "list[list[object]]",
        why: "D-10: one cell is an object",
    },
    Deviation {
        at: "ShowAutoSearchPerTrialResponse.data",
        theirs: "list[list[str]]",
        ours: "list[list[object]]",
        why: "D-10: one cell is an object",
    },
    Deviation {
        at: "ListTrainingJobEventsResponse.limit",
        theirs: "int",
        ours: "int or str",
        why: "D-01: the references call it text",
    },
    Deviation {
        at: "ListTrainingJobEventsResponse.offset",
        theirs: "int",
        ours: "int or str",
        why: "D-01: the references call it text",
    },
    Deviation {
        at: "ListTrainingJobEventsResponse.total",
        theirs: "int",
        ours: "int or str",
        why: "D-01: the references call it text",
    },
    Deviation {
        at: "Npu.unit_num",
        theirs: "str",
        ours: "int or str",
        why: "D-09: like that of GPUs, which is an integer",
    },
    Deviation {
        at: "TaskResponseAlgorithm.inputs",
        theirs: "AlgorithmInput",
        ours: "list[AlgorithmInput]",
        why: "D-18: a list in requests",
    },
    Deviation {
        at: "TaskResponseAlgorithm.outputs",
        theirs: "AlgorithmOutput",
        ours: "list[AlgorithmOutput]",
        why: "D-18: a list in requests",
    },
];
