//! Simulated network for clients without a server.

use std::{fmt, future::pending};

use modelarts_ext::{
    Client, ClientBuilder, Credentials,
    api::BoxFuture,
    connector::{ConnectorError, HttpConnector},
};
use reqwest::Request;

use crate::support::server::PROJECT;

/// Reply of a simulated network to a request.
pub(crate) type NetworkReply = Result<http::Response<String>, ConnectorError>;

/// Simulated network that immediately returns the result of a function, or never responds.
pub(crate) struct Network<F>(pub(crate) F);

impl<F> fmt::Debug for Network<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Network")
    }
}

impl<F: Fn(&Request) -> Option<NetworkReply> + Send + Sync + 'static> HttpConnector for Network<F> {
    fn send(
        &self,
        request: Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let reply = (self.0)(&request);
        Box::pin(async {
            match reply {
                Some(reply) => Ok(reply?.into()),
                None => pending().await,
            }
        })
    }
}

/// Returns a client that sends all requests to this network.
pub(crate) fn client_of(
    network: impl Fn(&Request) -> Option<NetworkReply> + Send + Sync + 'static,
) -> ClientBuilder {
    Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token("t"))
        .connector(Network(network))
}

/// Returns a 200 response with a JSON body.
pub(crate) fn json(body: impl ToString) -> Option<NetworkReply> {
    Some(Ok(http::Response::new(body.to_string())))
}

pub(crate) fn answer(status: u16) -> http::response::Builder {
    http::Response::builder().status(status)
}

pub(crate) fn reply(status: u16, body: impl ToString) -> NetworkReply {
    Ok(answer(status).body(body.to_string()).unwrap())
}
