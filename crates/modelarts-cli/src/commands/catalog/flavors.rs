//! Command `modelarts flavors`, which prints flavors.

use clap::{Args, ValueEnum};
use futures::TryStreamExt;
use modelarts_ext::types::{FlavorType, TrainingFlavor};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::jobs::{positive_number, whole_number},
    exit_status::ExitStatus,
    failure::Failure,
    output::{Column, Row, or_dash},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Flavors {
    /// Only flavors with this kind of processor.
    #[arg(long, value_enum, ignore_case = true, value_name = "KIND")]
    kind: Option<Kind>,
    /// Only flavors whose id or name contains this text.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only flavors with at least this number of cores.
    #[arg(
        long,
        value_name = "CORES",
        value_parser = whole_number::<u32>,
        allow_negative_numbers = true
    )]
    min_cores: Option<u32>,
    /// Only flavors with at least this number of accelerator cards.
    #[arg(
        long,
        value_name = "CARDS",
        value_parser = whole_number::<u32>,
        allow_negative_numbers = true
    )]
    min_cards: Option<u32>,
    /// Only flavors of which a job can have this number of nodes.
    #[arg(
        long,
        value_name = "NODES",
        value_parser = positive_number::<u32>,
        allow_negative_numbers = true
    )]
    nodes: Option<u32>,
}

/// Kind of processor.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    /// Without accelerator cards.
    Cpu,
    /// With GPU cards.
    Gpu,
    /// With Ascend cards.
    #[value(alias = "ascend")]
    Npu,
}

/// A flavor: the hardware of a node.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlavorRow {
    /// Id of the flavor, as for `submit --flavor`.
    id: String,
    /// Display name.
    name: Option<String>,
    /// Kind of processor: `CPU`, `GPU` or `Ascend`.
    kind: Option<String>,
    /// Architecture of the processor, such as `x86`.
    arch: Option<String>,
    /// Number of cores of a node.
    cores: Option<i64>,
    /// Main memory of a node, in the unit of `memory_unit`.
    memory: Option<i64>,
    /// Unit of `memory`, such as `GB`.
    memory_unit: Option<String>,
    /// Number of accelerator cards of a node; 0 without cards.
    cards: i64,
    /// Product name of the cards.
    card: Option<String>,
    /// Memory of a card with its unit, such as `32GB`.
    card_memory: Option<String>,
    /// Local disk of a node, in the unit of `disk_unit`.
    disk: Option<i64>,
    /// Unit of `disk`, such as `GB`.
    disk_unit: Option<String>,
    /// Maximum number of nodes of a job.
    max_nodes: Option<i64>,
    /// Code that the flavor is billed under.
    billing_code: Option<String>,
    /// Number of billing units that a node counts as.
    billing_units: Option<i64>,
}

impl FlavorRow {
    fn new(flavor: &TrainingFlavor) -> Option<Self> {
        let info = flavor.flavor_info.as_deref();
        let cpu = info.and_then(|info| info.cpu.as_ref());
        let memory = info.and_then(|info| info.memory.as_ref());
        let disk = info.and_then(|info| info.disk.as_ref());
        let gpu = info.and_then(|info| info.gpu.as_ref());
        let npu = info.and_then(|info| info.npu.as_ref());
        let gpu = gpu.map(|card| (card.unit_num, &card.product_name, &card.memory));
        let npu = npu.map(|card| (card.unit_num, &card.product_name, &card.memory));
        let card = gpu.or(npu);
        let billing = flavor.billing.as_ref();
        Some(Self {
            id: flavor.flavor_id.clone()?,
            name: flavor.flavor_name.clone(),
            kind: flavor.flavor_type.as_ref().map(ToString::to_string),
            arch: cpu.and_then(|cpu| cpu.arch.clone()),
            cores: cpu.and_then(|cpu| cpu.core_num),
            memory: memory.and_then(|memory| memory.size),
            memory_unit: memory.and_then(|memory| memory.unit.clone()),
            cards: card.and_then(|(count, ..)| count).unwrap_or(0),
            card: card.and_then(|(_, name, _)| name.clone()),
            card_memory: card.and_then(|(.., memory)| memory.clone()),
            disk: disk.and_then(|disk| disk.size),
            disk_unit: disk.and_then(|disk| disk.unit.clone()),
            max_nodes: flavor.max_num.or_else(|| info.and_then(|info| info.max_num)),
            billing_code: billing.and_then(|billing| billing.code.clone()),
            billing_units: billing.and_then(|billing| billing.unit_num),
        })
    }
}

/// Returns a number with its unit, such as `32 GB`.
fn with_unit(number: Option<i64>, unit: Option<&str>) -> String {
    or_dash(number.map(|number| format!("{number} {}", unit.unwrap_or_default())))
}

impl Row for FlavorRow {
    const LIST: &'static str = "flavors";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::key("ID", |row| row.id.clone()),
        Column::new("KIND", |row| or_dash(row.kind.clone())),
        Column::new("CORES", |row| or_dash(row.cores)),
        Column::new("MEMORY", |row| with_unit(row.memory, row.memory_unit.as_deref())),
        Column::new("CARDS", |row| match (row.cards, &row.card) {
            (0, _) => "-".to_owned(),
            (count, Some(name)) => format!("{count} x {name}"),
            (count, None) => count.to_string(),
        }),
        Column::wide("CARD-MEMORY", |row| or_dash(row.card_memory.clone())),
        Column::wide("DISK", |row| with_unit(row.disk, row.disk_unit.as_deref())),
        Column::wide("ARCH", |row| or_dash(row.arch.clone())),
        Column::new("MAX-NODES", |row| or_dash(row.max_nodes)),
        Column::wide("UNITS", |row| or_dash(row.billing_units)),
        Column::wide("BILLING", |row| or_dash(row.billing_code.clone())),
        Column::wide("NAME", |row| or_dash(row.name.clone())),
    ];

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl Flavors {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let kind = self.kind.map(|kind| match kind {
            Kind::Cpu => FlavorType::Cpu,
            Kind::Gpu => FlavorType::Gpu,
            Kind::Npu => FlavorType::Ascend,
        });
        let pages = client.flavors(kind).pages().map_ok(|page| {
            let rows = page.items.iter().filter_map(FlavorRow::new);
            rows.filter(|row| self.fits(row)).collect()
        });
        session.output.list_or_note::<FlavorRow>(pages, "no flavors").await?;
        Ok(ExitStatus::Success)
    }

    fn fits(&self, row: &FlavorRow) -> bool {
        let contains = |text: &str, part: &str| text.to_lowercase().contains(&part.to_lowercase());
        let has = |number: Option<i64>, minimum: Option<u32>| {
            let minimum = minimum.map(i64::from);
            minimum.is_none_or(|minimum| number.is_some_and(|number| number >= minimum))
        };
        let is_named = self.name.as_ref().is_none_or(|name| {
            contains(&row.id, name) || row.name.as_ref().is_some_and(|text| contains(text, name))
        });
        is_named
            && has(row.cores, self.min_cores)
            && has(Some(row.cards), self.min_cards)
            // A flavor that states no maximum number of nodes has no limit.
            && has(row.max_nodes.or(Some(i64::MAX)), self.nodes)
    }
}
