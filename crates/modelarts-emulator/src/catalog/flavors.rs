//! Flavors, with values from the examples (SOURCES X, D-20) and the ids in the reference (SOURCES
//! O, D-67). Public flavors come before those of pools.

use serde_json::{Value, json};

use crate::catalog::engines::Engine;

/// Maximum number of workers of a job, unless its flavor defines another.
const MAX_NODES: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Flavor {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    billing: &'static str,
    pub(super) max_nodes: u32,
    cores: u32,
    memory_gb: u32,
    /// Accelerator cards of a node, if any: number, product name, and memory per card.
    pub(super) gpu: Option<(u32, &'static str, &'static str)>,
    pub(super) disk_gb: Option<u32>,
    /// `true` if the flavor is available in dedicated pools only.
    pub(crate) of_pools: bool,
}

const fn cpu(id: &'static str, name: &'static str, max_nodes: u32, cores: u32) -> Flavor {
    Flavor {
        id,
        name,
        billing: id,
        max_nodes,
        cores,
        memory_gb: 4 * cores,
        gpu: None,
        disk_gb: Some(50),
        of_pools: false,
    }
}

const fn gpu(
    id: &'static str,
    name: &'static str,
    billing: &'static str,
    card: (u32, &'static str, &'static str),
) -> Flavor {
    Flavor {
        billing,
        memory_gb: 64 * card.0,
        gpu: Some(card),
        disk_gb: None,
        ..cpu(id, name, MAX_NODES, 8 * card.0)
    }
}

const fn pool(id: &'static str, cards: u32) -> Flavor {
    Flavor { of_pools: true, ..gpu(id, id, id, (cards, "GP-Vnt1", "32GB")) }
}

pub(super) const FLAVORS: [Flavor; 11] = [
    cpu("modelarts.vm.cpu.2u", "Computing CPU(2U) instance", 1, 2),
    cpu("modelarts.vm.cpu.8u", "Computing CPU(8U) instance", MAX_NODES, 8),
    gpu(
        "modelarts.p3.large.public.free",
        "Computing GPU(Vnt1) instance",
        "modelarts.vm.gpu.free",
        (1, "GP-Vnt1", "32GB"),
    ),
    gpu(
        "modelarts.p3.large.public",
        "Computing GPU(Vnt1) instance",
        "modelarts.vm.gpu.v100",
        (1, "GP-Vnt1", "32GB"),
    ),
    gpu(
        "modelarts.vm.pnt1.large.eco",
        "Computing GPU(Pnt1) instance",
        "modelarts.vm.gpu.pnt1.eco",
        (1, "GP-Pnt1", "8GB"),
    ),
    gpu(
        "modelarts.vm.p100.large.eco",
        "Computing GPU(P100) instance",
        "modelarts.vm.gpu.p100.eco",
        (1, "nvidia-p100", "16GB"),
    ),
    pool("modelarts.pool.visual.xlarge", 1),
    pool("modelarts.pool.visual.2xlarge", 2),
    pool("modelarts.pool.visual.4xlarge", 4),
    pool("modelarts.pool.visual.8xlarge", 8),
    pool("modelarts.pool.visual.16xlarge", 16),
];

impl Flavor {
    pub(crate) fn find(id: &str) -> Option<&'static Self> {
        FLAVORS.iter().find(|flavor| flavor.id == id)
    }

    pub(crate) const fn kind(&self) -> &'static str {
        if self.gpu.is_some() { "GPU" } else { "CPU" }
    }

    pub(crate) const fn cards(&self) -> u32 {
        match self.gpu {
            Some((cards, ..)) => cards,
            None => 0,
        }
    }

    /// Returns the public flavors in the form of ShowTrainingJobFlavors; `kind` filters the list.
    pub(crate) fn list(kind: Option<&str>) -> Value {
        let flavors: Vec<Value> = FLAVORS
            .iter()
            .filter(|flavor| !flavor.of_pools && kind.is_none_or(|kind| kind == flavor.kind()))
            .map(|flavor| {
                let mut shown = flavor.detail();
                shown["flavor_id"] = flavor.id.into();
                shown["flavor_name"] = flavor.name.into();
                shown["max_num"] = flavor.max_nodes.into();
                // The service returns this list as a string that contains a JSON array.
                let engines = Engine::names_on(flavor.gpu.is_some());
                shown["support_engines"] = json!(engines).to_string().into();
                shown
            })
            .collect();
        json!({"total_count": flavors.len(), "flavors": flavors})
    }

    /// Returns the number of CPU cores and the memory in gigabytes of a node.
    pub(crate) const fn size(&self) -> (u32, u32) {
        (self.cores, self.memory_gb)
    }

    /// Returns the value of `spec.resource.flavor_detail`.
    pub(crate) fn detail(&self) -> Value {
        let mut info = json!({
            "max_num": self.max_nodes,
            "cpu": {"arch": "x86", "core_num": self.cores},
            "memory": {"size": self.memory_gb, "unit": "GB"},
        });
        if let Some((cards, product, memory)) = self.gpu {
            info["gpu"] = json!({"unit_num": cards, "product_name": product, "memory": memory});
        }
        if let Some(size) = self.disk_gb {
            info["disk"] = json!({"size": size, "unit": "GB"});
        }
        json!({
            "flavor_type": self.kind(),
            "billing": {"code": self.billing, "unit_num": 1},
            "flavor_info": info,
        })
    }
}

pub(crate) fn max_nodes(flavor: Option<&Flavor>) -> u32 {
    flavor.map_or(MAX_NODES, |flavor| flavor.max_nodes)
}

pub(crate) fn gpus(flavor: Option<&Flavor>) -> u32 {
    flavor.map_or(0, Flavor::cards)
}
