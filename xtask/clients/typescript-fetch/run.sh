openapi-generator-cli generate -g typescript-fetch -i ../../$DESCRIPTION -o generated $OPTIONS
npm install --no-save --no-package-lock --ignore-scripts typescript@5.9.3 @types/node@20.19.25
node node_modules/typescript/bin/tsc
node out/first_job.js
