//! Result of comparing counts with BENCH.md.

use std::fmt;

use crate::{
    described::Described,
    difference::Difference,
    explanations::{self, EXPLANATIONS, Explanation},
    shape::Shape,
};

pub struct Report {
    /// Number of compared schemas.
    pub types: usize,
    /// Number of fields of the compared schemas.
    pub fields: usize,
    /// Number of differences that each explanation covers, in order.
    counts: [usize; EXPLANATIONS.len()],
    unexplained: Vec<Difference>,
}

impl Report {
    pub fn new(described: &Described, differences: Vec<Difference>) -> Self {
        let fields = described.types.values().map(|it| match &it.shape {
            Shape::Object(fields) => fields.len(),
            _ => 0,
        });
        let mut report = Self {
            types: described.types.len(),
            fields: fields.sum(),
            counts: [0; EXPLANATIONS.len()],
            unexplained: Vec::new(),
        };
        for difference in differences {
            match explanations::explain(&difference, described) {
                Some(index) => report.counts[index] += 1,
                None => report.unexplained.push(difference),
            }
        }
        report
    }

    /// Returns true if every difference is explained and at least one schema was compared.
    pub fn is_exact(&self) -> bool {
        self.unexplained.is_empty() && self.types > 0
    }

    #[cfg(test)]
    pub fn errors(&self) -> impl Iterator<Item = &Difference> {
        self.unexplained.iter()
    }

    /// Returns the number of differences that each explanation covers.
    pub fn explained(&self) -> impl Iterator<Item = (&'static Explanation, usize)> {
        EXPLANATIONS.iter().zip(self.counts)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { types, fields, .. } = self;
        writeln!(f, "{types} schemas with {fields} fields; lowering explains")?;
        for (explanation, count) in self.explained() {
            let Explanation { name, says, .. } = explanation;
            writeln!(f, "  {count:5}  {name}: {says}")?;
        }
        for difference in &self.unexplained {
            writeln!(f, "error: {difference}")?;
        }
        if self.unexplained.is_empty() {
            writeln!(f, "the types match the description")
        } else {
            writeln!(
                f,
                "{} differences are not explained",
                self.unexplained.len()
            )
        }
    }
}
