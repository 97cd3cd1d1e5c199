npm install --no-save --no-package-lock --ignore-scripts \
    openapi-typescript-codegen@$VERSION typescript@5.9.3 @types/node@20.19.25
node_modules/.bin/openapi -i ../../$DESCRIPTION -o generated $OPTIONS
node node_modules/typescript/bin/tsc --noEmit --strict --skipLibCheck \
    --target es2022 --module commonjs --types node generated/index.ts
