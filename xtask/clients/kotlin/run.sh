openapi-generator-cli generate -g kotlin -i ../../$DESCRIPTION -o generated $OPTIONS
