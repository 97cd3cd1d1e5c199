npm install --no-save --no-package-lock --ignore-scripts @hey-api/openapi-ts@$VERSION typescript@5.9.3 @types/node@20.19.25
node_modules/.bin/openapi-ts -i ../../$DESCRIPTION -o generated $OPTIONS
node node_modules/typescript/bin/tsc
node out/first_job.js
