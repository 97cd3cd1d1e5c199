openapi-generator-cli generate -g rust -i ../../$DESCRIPTION -o generated $OPTIONS
cargo build --quiet --target-dir ../../../target
../../../target/debug/first-job
