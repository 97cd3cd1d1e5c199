//! The flavors that the emulator knows from the documents: how many nodes and cards they allow,
//! and what the details of a job show of them.
//!
//! Other flavors are accepted too, because every region has its own; they show no details.

use serde_json::{Value, json};

/// How many workers a job may have when the flavor does not say: this is one machine.
const MAX_NODES: u32 = 16;

/// One flavor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flavor {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    billing: &'static str,
    max_nodes: u32,
    cores: u32,
    memory_gb: u32,
    /// Cards, product name, memory of a card.
    gpu: Option<(u32, &'static str, &'static str)>,
    disk_gb: Option<u32>,
}

/// From the flavor list (both CPU flavors) and the create and details examples (GPU).
const FLAVORS: [Flavor; 4] = [
    Flavor {
        id: "modelarts.vm.cpu.2u",
        name: "Computing CPU(2U) instance",
        billing: "modelarts.vm.cpu.2u",
        max_nodes: 1,
        cores: 2,
        memory_gb: 8,
        gpu: None,
        disk_gb: Some(50),
    },
    Flavor {
        id: "modelarts.vm.cpu.8u",
        name: "Computing CPU(8U) instance",
        billing: "modelarts.vm.cpu.8u",
        max_nodes: MAX_NODES,
        cores: 8,
        memory_gb: 32,
        gpu: None,
        disk_gb: Some(50),
    },
    Flavor {
        id: "modelarts.p3.large.public.free",
        name: "Computing GPU(Vnt1) instance",
        billing: "modelarts.vm.gpu.free",
        max_nodes: MAX_NODES,
        cores: 8,
        memory_gb: 64,
        gpu: Some((1, "GP-Vnt1", "32GB")),
        disk_gb: None,
    },
    Flavor {
        id: "modelarts.vm.pnt1.large.eco",
        name: "Computing GPU(Pnt1) instance",
        billing: "modelarts.vm.gpu.pnt1.eco",
        max_nodes: MAX_NODES,
        cores: 8,
        memory_gb: 64,
        gpu: Some((1, "GP-Pnt1", "8GB")),
        disk_gb: None,
    },
];

impl Flavor {
    pub(crate) fn find(id: &str) -> Option<&'static Self> {
        FLAVORS.iter().find(|flavor| flavor.id == id)
    }

    /// `spec.resource.flavor_detail`.
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
            "flavor_type": if self.gpu.is_some() { "GPU" } else { "CPU" },
            "billing": {"code": self.billing, "unit_num": 1},
            "flavor_info": info,
        })
    }
}

/// The most nodes a job with this flavor may have.
pub(crate) fn max_nodes(flavor: Option<&Flavor>) -> u32 {
    flavor.map_or(MAX_NODES, |flavor| flavor.max_nodes)
}

/// Cards per node.
pub(crate) fn gpus(flavor: Option<&Flavor>) -> u32 {
    flavor
        .and_then(|flavor| flavor.gpu)
        .map_or(0, |(cards, ..)| cards)
}
