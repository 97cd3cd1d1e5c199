openapi-generator-cli generate -g csharp -i ../../$DESCRIPTION -o generated $OPTIONS
