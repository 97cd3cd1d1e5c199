//! The table of regions, from the servers of the description.

use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::super::{
    error::Error,
    extensions::{Server, read},
};

/// Returns the table as an item of the generated file, sorted by region.
pub fn table(description: &Value) -> Result<TokenStream, Error> {
    let servers: Vec<Server> = match description.get("servers") {
        Some(servers) => read("/servers", servers)?,
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        let Some(cloud) = server.cloud else { continue };
        let region = server.variables.get("region").filter(|it| it.r#enum.contains(&it.default));
        let region = region.filter(|_| server.url.contains("{region}")).ok_or_else(|| {
            Error(format!(
                "/servers/{index}: must have {{region}} in its url, and a variable region whose \
                 enum has its default"
            ))
        })?;
        let url = |id: &String| server.url.replace("{region}", id);
        rows.extend(region.r#enum.iter().map(|id| (id, cloud.name(), url(id))));
    }
    rows.sort();
    if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(Error(format!("/servers: must have each region once: {}", pair[0].0)));
    }
    let rows = rows.into_iter().map(|(id, cloud, endpoint)| {
        quote!(crate::Region { id: #id, cloud: #cloud, endpoint: #endpoint })
    });
    Ok(quote! {
        /// The regions of the servers of the description, by name.
        pub static REGIONS: &[crate::Region] = &[#(#rows),*];
    })
}
