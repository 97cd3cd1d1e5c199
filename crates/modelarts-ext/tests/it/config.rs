//! Tests of client settings from the environment and from a builder.

use modelarts_ext::{Client, ClientBuilder, Credentials, ErrorKind, config::Cloud};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    errors::refused,
    server::{Server, json_answer},
};

fn vars(variables: &[(&str, &str)]) -> ClientBuilder {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables: Vec<(String, String)> = variables.iter().map(owned).collect();
    ClientBuilder::from_vars(move |name| {
        let found = variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    })
}

/// Settings that every client requires in addition to the variables of a test.
const ENDPOINT: (&str, &str) = ("MODELARTS_ENDPOINT", "https://modelarts.test");
const PROJECT: (&str, &str) = ("HUAWEICLOUD_SDK_PROJECT_ID", "p1");
const KEYS: [(&str, &str); 2] = [("HUAWEICLOUD_SDK_AK", "AK1"), ("HUAWEICLOUD_SDK_SK", "SK1")];

fn built(variables: &[(&str, &str)]) -> Client {
    vars(variables).build().unwrap()
}

fn problem(variables: &[(&str, &str)]) -> String {
    let error = refused(vars(variables).build());
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(error.attempts(), 0);
    error.to_string()
}

#[test]
fn the_endpoint_or_the_region_is_taken() {
    let [ak, sk] = KEYS;
    let endpoint = |variables: &[(&str, &str)]| {
        let all = [&[PROJECT, ak, sk], variables].concat();
        built(&all).endpoint().to_owned()
    };
    let regions = [
        ("MODELARTS_REGION", "eu-de"),
        ("HUAWEICLOUD_SDK_REGION", "cn-north-4"),
        ("OS_REGION_NAME", "ap-southeast-1"),
    ];
    let urls = [
        "https://modelarts.eu-de.otc.t-systems.com/",
        "https://modelarts.cn-north-4.myhuaweicloud.com/",
        "https://modelarts.ap-southeast-1.myhuaweicloud.cn/",
    ];
    for at in 0..3 {
        assert_eq!(endpoint(&regions[at..]), urls[at]);
        assert_eq!(endpoint(&regions[at..=at]), urls[at]);
    }
    // Empty variables count as missing.
    let empty = [("MODELARTS_ENDPOINT", ""), ("MODELARTS_REGION", ""), regions[2]];
    assert_eq!(endpoint(&empty), urls[2]);
    let both = [&[ENDPOINT], &regions[..]].concat();
    assert_eq!(endpoint(&both), "https://modelarts.test/");
    for (text, url) in [
        ("modelarts.test", "https://modelarts.test/"),
        (" https://modelarts.test/ ", "https://modelarts.test/"),
        ("https://modelarts.test:8443", "https://modelarts.test:8443/"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("http://localhost:8080", "http://localhost:8080/"),
        ("http://[::1]:8080", "http://[::1]:8080/"),
    ] {
        assert_eq!(endpoint(&[("MODELARTS_ENDPOINT", text)]), url);
    }
}

#[test]
fn the_project_is_taken() {
    let [ak, sk] = KEYS;
    let project = |variables: &[(&str, &str)]| {
        let all = [&[ENDPOINT, ak, sk], variables].concat();
        built(&all).project_id().to_owned()
    };
    assert_eq!(project(&[PROJECT]), "p1");
    assert_eq!(project(&[("OS_PROJECT_ID", "p2")]), "p2");
    assert_eq!(project(&[("OS_PROJECT_ID", "p2"), PROJECT]), "p1");
    // Settings of the builder take precedence over variables.
    let client = vars(&[ENDPOINT, PROJECT, ak, sk]).project_id("p3").build();
    assert_eq!(client.unwrap().project_id(), "p3");
}

/// Returns three headers of the request that a client sends: access key, security token, and token.
async fn sent(variables: &[(&str, &str)]) -> [Option<String>; 3] {
    let server = Server::start([json_answer("200 OK", "", r#"{"items":[]}"#)]).await;
    let all = [&[("MODELARTS_ENDPOINT", server.url.as_str()), PROJECT], variables].concat();
    let client = vars(&all).clock(TestClock::new()).build().unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    let request = server.requests().remove(0);
    let header = |name: &str| {
        let line = request.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim_start_matches(": ").to_owned())
    };
    let access_key = header("authorization").map(|value| {
        let (_, rest) = value.split_once("Access=").unwrap();
        rest.split_once(',').unwrap().0.to_owned()
    });
    [access_key, header("x-security-token"), header("x-auth-token")]
}

#[tokio::test]
async fn credentials_are_taken() {
    let [ak, sk] = KEYS;
    let (os_ak, os_sk) = (("OS_ACCESS_KEY", "AK2"), ("OS_SECRET_KEY", "SK2"));
    let st = ("HUAWEICLOUD_SDK_SECURITY_TOKEN", "ST1");
    let os_st = ("OS_SECURITY_TOKEN", "ST2");
    let (token, os_token) = (("OS_AUTH_TOKEN", "TK1"), ("OS_TOKEN", "TK2"));
    let some = |text: &str| Some(text.to_owned());
    for (variables, expected) in [
        (&[ak, sk][..], [some("AK1"), None, None]),
        (&[os_ak, os_sk], [some("AK2"), None, None]),
        (&[os_ak, os_sk, ak, sk], [some("AK1"), None, None]),
        (&[ak, sk, st], [some("AK1"), some("ST1"), None]),
        (&[os_ak, os_sk, os_st], [some("AK2"), some("ST2"), None]),
        (&[ak, sk, os_st, st], [some("AK1"), some("ST1"), None]),
        // Keys take precedence over tokens.
        (&[ak, sk, token, os_token], [some("AK1"), None, None]),
        (&[token], [None, None, some("TK1")]),
        (&[os_token], [None, None, some("TK2")]),
        (&[os_token, token], [None, None, some("TK1")]),
        (&[("OS_AUTH_TOKEN", ""), os_token], [None, None, some("TK2")]),
    ] {
        assert_eq!(sent(variables).await, expected, "{variables:?}");
    }
}

#[test]
fn half_a_pair_of_keys_is_told() {
    for (one, other) in [
        ("HUAWEICLOUD_SDK_AK", "HUAWEICLOUD_SDK_SK"),
        ("HW_ACCESS_KEY", "HW_SECRET_KEY"),
        ("OS_ACCESS_KEY", "OS_SECRET_KEY"),
        ("OS_AK", "OS_SK"),
        ("OS_ACCESS_KEY_ID", "OS_ACCESS_KEY_SECRET"),
    ] {
        for (set, missing) in [(one, other), (other, one)] {
            assert_eq!(
                problem(&[ENDPOINT, PROJECT, (set, "x"), ("OS_TOKEN", "t")]),
                format!("{set} is set but {missing} is not")
            );
        }
    }
    // Credentials set by the program replace those of the environment.
    let half = vars(&[ENDPOINT, PROJECT, ("OS_ACCESS_KEY", "x")]);
    half.credentials(Credentials::token("t")).build().unwrap();
}

#[test]
fn what_is_missing_is_told() {
    let [ak, sk] = KEYS;
    assert_eq!(
        problem(&[PROJECT, ak, sk]),
        "no endpoint; call endpoint() or region(), or set MODELARTS_ENDPOINT or MODELARTS_REGION"
    );
    assert_eq!(
        problem(&[ENDPOINT, ak, sk]),
        "no project id; call project_id(), or set HUAWEICLOUD_SDK_PROJECT_ID or HW_PROJECT_ID or \
         OS_PROJECT_ID, or call connect() instead of build(), which looks it up"
    );
    assert_eq!(
        problem(&[ENDPOINT, PROJECT]),
        "no credentials; call credentials(), or set HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK. \
         Looked at:\n\
         - the variables HUAWEICLOUD_OIDC_*: not set\n\
         - HUAWEICLOUD_SDK_AK and HUAWEICLOUD_SDK_SK: not set\n\
         - HW_ACCESS_KEY and HW_SECRET_KEY, HW_AUTH_TOKEN, HW_USER_NAME and HW_USER_PASSWORD: not \
         set\n\
         - OS_ACCESS_KEY and OS_SECRET_KEY, OS_AUTH_TOKEN, OS_USERNAME and OS_PASSWORD: not set\n\
         - OS_CLOUD: not set\n\
         - ~/.huaweicloud/credentials: there is no home directory, and \
         HUAWEICLOUD_SDK_CREDENTIALS_FILE is not set\n\
         - clouds.yaml: there is no place to look in, and OS_CLIENT_CONFIG_FILE is not set\n\
         - the metadata service of a cloud server: not asked unless metadata() is called\n\
         - HC_CONTAINER_CREDENTIALS_FULL_URI: not set"
    );
}

#[test]
fn what_is_wrong_is_told() {
    let [ak, sk] = KEYS;
    let with = |variable: (&str, &str)| problem(&[variable, PROJECT, ak, sk]);
    assert_eq!(
        with(("MODELARTS_REGION", "eu-dee")),
        "the region \"eu-dee\" is not known; did you mean eu-de? Otherwise use one of \
         af-north-1, af-south-1, ap-southeast-1, ap-southeast-2, ap-southeast-3, ap-southeast-4, \
         cn-east-3, cn-east-4, cn-north-1, cn-north-11, cn-north-12, cn-north-2, cn-north-4, \
         cn-north-9, cn-south-1, cn-southwest-2, cn-southwest-3, eu-de, la-north-2, \
         la-south-2, me-east-1, sa-brazil-1, tr-west-1, or set the endpoint"
    );
    let endpoint = |text: &str| with(("MODELARTS_ENDPOINT", text));
    for host in ["modelarts.test", "192.168.0.1", "localhost.test", "127.0.0.1.test"] {
        assert_eq!(
            endpoint(&format!("http://{host}")),
            format!(
                "the endpoint \"http://{host}\" from MODELARTS_ENDPOINT is not https; over http \
                 every secret of a request can \
                 be read on the way, so that is only for this machine"
            )
        );
    }
    for text in ["ftp://modelarts.test", "htp://127.0.0.1:8080"] {
        assert_eq!(
            endpoint(text),
            format!(
                "the endpoint {text:?} from MODELARTS_ENDPOINT has the scheme {}; it must be \
                 https, or http for a server on this machine",
                &text[..3]
            )
        );
    }
    // User, password and query may be secrets.
    for (text, shown) in [
        ("https://modelarts.test/v2", "https://modelarts.test/v2"),
        ("https://modelarts.test/?a=b", "https://modelarts.test/"),
        ("https://modelarts.test/#a", "https://modelarts.test/"),
        ("https://user@modelarts.test", "modelarts.test"),
        ("https://user:password@modelarts.test", "modelarts.test"),
        ("https://:password@modelarts.test", "modelarts.test"),
        ("modelarts.test/v2/p", "https://modelarts.test/v2/p"),
    ] {
        assert_eq!(
            endpoint(text),
            format!(
                "the endpoint {shown:?} from MODELARTS_ENDPOINT must be only a scheme and a host, \
                 without user, path and query, such as https://modelarts.eu-de.otc.t-systems.com"
            ),
            "{text}"
        );
    }
    assert_eq!(
        endpoint("https://modelarts test"),
        "the endpoint \"https://modelarts test\" from MODELARTS_ENDPOINT is wrong: invalid \
         international domain name"
    );
    let region = ("HUAWEICLOUD_SDK_REGION_MODELARTS_EU_DE", "ftp://modelarts.test");
    assert_eq!(
        problem(&[("MODELARTS_REGION", "eu-de"), region, PROJECT, ak, sk]),
        "the endpoint \"ftp://modelarts.test\" of the region \"eu-de\" has the scheme ftp; it must \
         be https, or http for a server on this machine"
    );
    for project in ["../p", "a b", "p/q", &"x".repeat(65)] {
        assert_eq!(
            problem(&[ENDPOINT, ("OS_PROJECT_ID", project), ak, sk]),
            format!(
                "the project id {project:?} is wrong; it has 1 to 64 letters, digits and hyphens"
            )
        );
    }
    for (name, value, text) in [
        (
            "OS_TOKEN",
            "t\n",
            "OS_TOKEN: the token contains white space or control characters; check how it was \
             copied",
        ),
        ("OS_TOKEN", " ", "OS_TOKEN: the token is empty"),
    ] {
        assert_eq!(problem(&[ENDPOINT, PROJECT, (name, value)]), text);
    }
    assert_eq!(
        problem(&[ENDPOINT, PROJECT, ("HUAWEICLOUD_SDK_AK", "a b"), sk]),
        "HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK: the access key contains white space or control \
         characters; check how it was copied"
    );
}

#[test]
fn keys_of_two_families_are_not_mixed() {
    // A secret key that belongs to another access key gives an invalid signature, and five invalid
    // signatures lock the key.
    let mixed = [
        ENDPOINT,
        PROJECT,
        ("HUAWEICLOUD_SDK_AK", "AK1"),
        ("OS_ACCESS_KEY", "AK2"),
        ("OS_SECRET_KEY", "SK2"),
    ];
    assert_eq!(problem(&mixed), "HUAWEICLOUD_SDK_AK is set but HUAWEICLOUD_SDK_SK is not");
}

#[test]
fn the_cloud_is_taken_from_the_builder_the_environment_or_the_endpoint() {
    let job = json!({
        "kind": "hetero_job",
        "metadata": {"name": "job"},
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "true"},
        "spec": {"resource": {"flavor_id": "f", "node_count": 1}},
    });
    let [ak, sk] = KEYS;
    let cloud = |variables: &[(&str, &str)], builder: Option<Cloud>| {
        let all = [&[PROJECT, ak, sk], variables].concat();
        let mut set = vars(&all);
        if let Some(cloud) = builder {
            set = set.cloud(cloud);
        }
        let client = set.build().unwrap();
        let job = client.training_jobs().from_value(&job).unwrap();
        // Only Huawei Cloud supports jobs of this kind.
        match job.check().violations.as_slice() {
            [] => Cloud::Huawei,
            [violation] if violation.field() == "kind" => Cloud::Otc,
            other => panic!("{other:?}"),
        }
    };
    let otc = ("MODELARTS_REGION", "eu-de");
    let huawei = ("MODELARTS_REGION", "cn-north-4");
    let named = |name| ("MODELARTS_CLOUD", name);
    for (variables, builder, expected) in [
        (&[ENDPOINT][..], None, Cloud::Huawei),
        (&[("MODELARTS_ENDPOINT", "http://127.0.0.1:9")], None, Cloud::Huawei),
        (&[otc], None, Cloud::Otc),
        (&[huawei], None, Cloud::Huawei),
        (&[ENDPOINT, otc], None, Cloud::Otc),
        (&[ENDPOINT, ("OS_AUTH_URL", "https://iam.eu-de.otc.t-systems.com/v3")], None, Cloud::Otc),
        (&[otc, named("huawei")], None, Cloud::Huawei),
        (&[huawei, named("otc")], None, Cloud::Otc),
        (&[otc, named("Huawei")], None, Cloud::Huawei),
        (&[huawei, named("OTC")], None, Cloud::Otc),
        (&[otc, named("")], None, Cloud::Otc),
        (&[huawei, named("huawei")], Some(Cloud::Otc), Cloud::Otc),
        (&[otc, named("otc")], Some(Cloud::Huawei), Cloud::Huawei),
        // The builder needs no variable.
        (&[otc, named("aws")], Some(Cloud::Huawei), Cloud::Huawei),
    ] {
        assert_eq!(cloud(variables, builder), expected, "{variables:?} {builder:?}");
    }
    assert_eq!(
        problem(&[ENDPOINT, PROJECT, ak, sk, named("aws")]),
        "MODELARTS_CLOUD must be huawei or otc, not \"aws\"; unset it to take the cloud of the \
         endpoint"
    );
}

#[test]
fn the_origins_of_settings_are_returned() {
    let client = built(&[ENDPOINT, PROJECT, KEYS[0], KEYS[1]]);
    let origins = client.origins();
    assert_eq!((origins.endpoint, origins.region), ("MODELARTS_ENDPOINT", None));
    assert_eq!(origins.project, "HUAWEICLOUD_SDK_PROJECT_ID");
    let keys = "HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK";
    assert_eq!(origins.credentials, Some(keys));
    let endpoint = (ENDPOINT.0, "https://modelarts.eu-de.otc.t-systems.com");
    let client = built(&[endpoint, PROJECT, KEYS[0], KEYS[1]]);
    assert_eq!(client.origins().region, Some("the endpoint"));
    let client = built(&[("OS_REGION_NAME", "eu-de"), PROJECT, KEYS[0], KEYS[1]]);
    let origins = client.origins();
    assert_eq!((origins.endpoint, origins.region), ("the region", Some("OS_REGION_NAME")));
    let client = vars(&[])
        .endpoint(ENDPOINT.1)
        .region("eu-de")
        .project_id("p1")
        .credentials(Credentials::keys("AK1", "SK1"))
        .build()
        .unwrap();
    let origins = client.origins();
    assert_eq!((origins.endpoint, origins.region), ("endpoint()", Some("region()")));
    assert_eq!((origins.project, origins.credentials), ("project_id()", None));
}
