//! Tests of operations that exist only in the copied description. They must be generated, signed,
//! retried according to their effect, paged, and callable by name.

use std::{net::SocketAddr, sync::{Arc, Mutex}, time::Duration};

use modelarts_ext::{Client, Credentials, RetryPolicy, api::Effect, types::CreateWidgetRequest};
use serde_json::json;
use tokio::{io::{AsyncReadExt, AsyncWriteExt}, net::{TcpListener, TcpStream}};

/// Number of widgets that the simulated service returns.
const WIDGETS: usize = 45;

/// Simulated service that manages widgets. It responds with 503 to the first request of each
/// method.
#[derive(Default)]
struct Service {
    /// The request lines of all requests.
    requests: Mutex<Vec<String>>,
}

impl Service {
    async fn start() -> (Arc<Self>, SocketAddr) {
        let service = Arc::new(Self::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::clone(&service);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&shared).serve(stream));
            }
        });
        (service, address)
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let mut request = String::new();
        let mut buffer = [0; 4096];
        let (head, body) = loop {
            let read = stream.read(&mut buffer).await.unwrap();
            request.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
            if let Some((head, body)) = request.split_once("\r\n\r\n") {
                let head = head.to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1);
                let length = length.and_then(|rest| rest.split("\r\n").next());
                if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                    break (head, body.to_owned());
                }
            }
            assert_ne!(read, 0, "{request}");
        };
        let line = request.split(" HTTP/").next().unwrap().to_owned();
        let signed = head.contains("\r\nauthorization: sdk-hmac-sha256 access=key,");
        let (status, answer) = match (signed, self.is_first(&line)) {
            (false, _) => (
                401,
                json!({"error_code": "test.1", "error_msg": "not signed"}),
            ),
            (_, true) => (503, json!({"error_code": "test.2", "error_msg": "busy"})),
            _ if line.starts_with("GET ") => (200, page(&line)),
            _ => (201, serde_json::from_str(&body).unwrap()),
        };
        self.requests.lock().unwrap().push(line);
        let answer = answer.to_string();
        let answer = format!(
            "HTTP/1.1 {status} Text\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{answer}",
            answer.len()
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    }

    /// Returns true if this is the first request with its method.
    fn is_first(&self, line: &str) -> bool {
        let method = line.split(' ').next().unwrap();
        let requests = self.requests.lock().unwrap();
        !requests.iter().any(|line| line.starts_with(method))
    }

    fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

/// Returns the response to `ListWidgets`.
fn page(line: &str) -> serde_json::Value {
    let number = |name: &str| -> usize {
        let value = line.split(&format!("{name}=")).nth(1).unwrap();
        value.split('&').next().unwrap().parse().unwrap()
    };
    let rows = (0..WIDGETS).skip(number("offset")).take(number("limit"));
    let rows: Vec<_> = rows
        .map(|row| json!({"id": format!("w{row}"), "color": "red"}))
        .collect();
    json!({"page": {"widgets": rows, "total": WIDGETS}})
}

fn client(address: SocketAddr) -> Client {
    let pause = Duration::from_millis(1);
    Client::builder()
        .endpoint(format!("http://{address}"))
        .project_id("p1")
        .credentials(Credentials::keys("key", "secret"))
        .retry(RetryPolicy::default().pauses(pause, pause))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_list_is_paged_and_retried() {
    let (service, address) = Service::start().await;
    let client = client(address);
    let call = client.operation("ListWidgets").unwrap();
    assert_eq!(call.operation().effect, Effect::Read);
    let call = call
        .parameter("shelf_id", "top-1")
        .parameter("color", "red");
    let widgets = call.list().collect(100).await.unwrap();
    let ids: Vec<_> = widgets
        .iter()
        .map(|widget| widget["id"].as_str().unwrap())
        .collect();
    let expected: Vec<_> = (0..WIDGETS).map(|row| format!("w{row}")).collect();
    assert_eq!(ids, expected);
    let requests = service.take_requests();
    assert!(requests.len() > 3, "{requests:?}");
    // The client repeated the first attempt, which failed with a temporary error.
    let first = "GET /v2/p1/shelves/top-1/widgets?";
    assert!(requests[0].starts_with(first), "{requests:?}");
    assert_eq!(requests[0], requests[1]);

    let generated = client.call(|api| {
        let call = api.list_widgets().project_id("p1").shelf_id("top-1");
        call.offset(40).limit(20).send()
    });
    let page = generated.await.unwrap().into_inner().page.unwrap();
    assert_eq!((page.widgets.len(), page.total), (5, Some(45)));
}

#[tokio::test]
async fn a_creation_is_not_repeated() {
    let (service, address) = Service::start().await;
    let client = client(address);
    let create = || {
        let call = client.operation("CreateWidget").unwrap();
        call.parameter("shelf_id", "top-1")
            .body(json!({"color": "blue"}))
    };
    let error = create().send().await.unwrap_err();
    assert_eq!((error.status(), error.code()), (Some(503), Some("test.2")));
    assert_eq!(
        service.take_requests(),
        ["POST /v2/p1/shelves/top-1/widgets"]
    );

    assert!(
        client
            .operation("ListWidgets")
            .unwrap()
            .parameter("shelf_id", "top-1")
            .list()
            .collect(1)
            .await
            .is_ok()
    );
    let body: CreateWidgetRequest = serde_json::from_value(json!({"color": "green"})).unwrap();
    let generated = client.call(|api| {
        let call = api.create_widget().project_id("p1").shelf_id("top-1");
        call.body(body).send()
    });
    assert_eq!(generated.await.unwrap_err().status(), Some(503));
    let created = create().send().await.unwrap();
    assert_eq!((created.status(), &created["color"]), (201, &json!("blue")));
}

#[test]
fn misspelt_names_and_wrong_values_are_refused() {
    let client = client(([127, 0, 0, 1], 9).into());
    let error = client.operation("ListWidget").unwrap_err();
    assert!(
        error.to_string().contains("did you mean ListWidgets?"),
        "{error}"
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let send = |name: &str, value: &str| {
        let call = client.operation("ListWidgets").unwrap();
        runtime
            .block_on(call.parameter(name, value).send())
            .unwrap_err()
            .to_string()
    };
    assert!(send("shelf", "top-1").contains("did you mean shelf_id?"));
    assert!(send("color", "red").contains("shelf_id must be given"));
    assert!(send("shelf_id", "../top").contains("it must be text matching"));
}
