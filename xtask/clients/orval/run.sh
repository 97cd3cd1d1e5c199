npm install --no-save --no-package-lock --ignore-scripts orval@$VERSION typescript@5.9.3
node_modules/.bin/orval --input ../../$DESCRIPTION --output client.ts $OPTIONS
node node_modules/typescript/bin/tsc --noEmit --strict --skipLibCheck \
    --target es2022 --lib es2022,dom --module nodenext client.ts
