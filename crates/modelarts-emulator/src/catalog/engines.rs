//! Preset engines, with values from the examples (SOURCES X, D-13).

use std::collections::BTreeSet;

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Engine {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// `true` for an engine of API version 1, which ignores `local_code_dir` and `working_dir`.
    pub(crate) v1_compatible: bool,
    pub(crate) run_user: &'static str,
    /// Images for nodes without and with accelerator cards, in this order. `""` means no image.
    images: [&'static str; 2],
    image_version: &'static str,
    /// `true` if new jobs cannot use the engine (SOURCES, rule `engine-not-retired`).
    pub(crate) retired: bool,
}

const fn v2_engine(id: &'static str, name: &'static str, image: &'static str) -> Engine {
    Engine {
        id,
        name,
        version: id,
        v1_compatible: false,
        run_user: "1102",
        images: [image, image],
        image_version: id,
        retired: false,
    }
}

const fn v1_engine(
    id: &'static str,
    name: &'static str,
    version: &'static str,
    images: [&'static str; 2],
    image_version: &'static str,
) -> Engine {
    Engine {
        id,
        name,
        version,
        v1_compatible: true,
        run_user: "",
        images,
        image_version,
        retired: false,
    }
}

const CAFFE_CPU: &str = "modelarts-job-dev-image/caffe1-cpu-cp27:1.0.0";
const CAFFE_GPU: &str = "modelarts-job-dev-image/caffe1-gpu-cuda8-cp27:1.0.0";
const HOROVOD: &str = "modelarts-job-dev-image/tensorflow-gpu-cuda10-cp36-horovod0162:1.13.1";
const PYTORCH_1_3: &str = "modelarts-job-dev-image/pytorch-cp36:1.3.0";
const PYTORCH_1_4: &str = "modelarts-job-dev-image/pytorch-cp36:1.4.0";
const XGBOOST: &str = "modelarts-job-dev-image/python-train-py36:secure";

/// Engines in the examples of the API reference, and a retired engine.
const ENGINES: &[Engine] = &[
    v1_engine(
        "caffe-1.0.0-python2.7",
        "Caffe",
        "caffe-1.0.0-python2.7",
        [CAFFE_CPU, CAFFE_GPU],
        "3.1.0",
    ),
    v1_engine(
        "horovod-cp36-tf-1.16.2",
        "Horovod",
        "0.16.2-TF-1.13.1-python3.6",
        [HOROVOD; 2],
        "3.2.1",
    ),
    v2_engine(
        "horovod_0.20.0-tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64",
        "Horovod",
        "aip/horovod_tensorflow:train",
    ),
    v1_engine(
        "pytorch-cp36-1.3.0",
        "PyTorch",
        "PyTorch-1.3.0-python3.6",
        [PYTORCH_1_3; 2],
        "3.2.1",
    ),
    v1_engine(
        "pytorch-cp36-1.4.0-v2",
        "PyTorch",
        "PyTorch-1.4.0-python3.6-v2",
        [PYTORCH_1_4; 2],
        "3.2.1",
    ),
    v2_engine(
        "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
        "PyTorch",
        "aip/pytorch_1_8:train",
    ),
    v2_engine(
        "tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64",
        "TensorFlow",
        "aip/tensorflow_2_1:train",
    ),
    v1_engine(
        "xgboost-sklearn-python3.6",
        "XGBoost-Sklearn",
        "XGBoost-0.80-Sklearn-0.18.1-python3.6",
        [XGBOOST, ""],
        "2.0.10-20211101113705",
    ),
    Engine {
        retired: true,
        ..v1_engine("retired-engine-1.0", "Retired", "retired-engine-1.0", ["", ""], "1.0")
    },
];

impl Engine {
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        ENGINES.iter().find(|engine| engine.id == id)
    }

    /// Finds an engine. As an extension, the version may be cut before a hyphen: `pytorch_1.8.0`.
    pub(crate) fn by_name(name: &str, version: &str) -> Option<&'static Self> {
        ENGINES.iter().find(|engine| {
            engine.name == name
                && engine
                    .version
                    .strip_prefix(version)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        })
    }

    /// Returns the names of engines for new jobs on nodes with (`gpu`) or without cards.
    pub(super) fn names_on(gpu: bool) -> BTreeSet<&'static str> {
        let usable = |engine: &&Engine| !engine.retired && engine.runs_on(gpu);
        let usable = ENGINES.iter().filter(usable);
        usable.map(|engine| engine.name).collect()
    }

    pub(crate) const fn runs_on(&self, gpu: bool) -> bool {
        !self.images[gpu as usize].is_empty()
    }

    pub(crate) fn list() -> Value {
        let items: Vec<Value> = ENGINES
            .iter()
            .filter(|engine| !engine.retired)
            .map(|engine| {
                json!({
                    "engine_id": engine.id,
                    "engine_name": engine.name,
                    "engine_version": engine.version,
                    "v1_compatible": engine.v1_compatible,
                    "run_user": engine.run_user,
                    "image_info": {
                        "cpu_image_url": engine.images[0],
                        "gpu_image_url": engine.images[1],
                        "image_version": engine.image_version,
                    },
                })
            })
            .collect();
        json!({"total": items.len(), "items": items})
    }
}
