// Signs requests with an access key: SDK-HMAC-SHA256.

import { createHash, createHmac } from "node:crypto";

import type { Middleware } from "openapi-fetch";

export interface Keys {
  accessKey: string;
  secretKey: string;
  projectId: string;
}

const sha256 = (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex");

/** Percent-encodes all but letters, digits and `-_.~`; encodeURIComponent leaves five more. */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

const byCodePoint = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the header `Authorization`. `headers` are those to sign, in lower case, and include `x-sdk-date`. */
export function authorization(
  keys: Keys,
  method: string,
  url: URL,
  headers: Record<string, string>,
  body: Uint8Array,
): string {
  const path = decodeURIComponent(url.pathname).split("/").map(encode).join("/");
  const query = [...url.searchParams]
    .sort(([a, x], [b, y]) => byCodePoint(a, b) || byCodePoint(x, y))
    .map(([key, value]) => `${encode(key)}=${encode(value)}`)
    .join("&");
  const names = Object.keys(headers).sort();
  const canonical = [
    method.toUpperCase(),
    path.endsWith("/") ? path : `${path}/`,
    query,
    names.map((name) => `${name}:${headers[name]?.trim()}\n`).join(""),
    names.join(";"),
    sha256(body),
  ].join("\n");
  const toSign = `SDK-HMAC-SHA256\n${headers["x-sdk-date"]}\n${sha256(canonical)}`;
  const signature = createHmac("sha256", keys.secretKey).update(toSign).digest("hex");
  return `SDK-HMAC-SHA256 Access=${keys.accessKey}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
}

/** Signs each request as it is sent. */
export function signing(keys: Keys): Middleware {
  return {
    async onRequest({ request }) {
      const url = new URL(request.url);
      const type = request.headers.get("content-type");
      const headers = {
        host: url.host,
        "x-project-id": keys.projectId,
        "x-sdk-date": new Date().toISOString().replace(/[-:]|\.\d+/g, ""),
        ...(type && { "content-type": type }),
      };
      const body = new Uint8Array(await request.clone().arrayBuffer());
      request.headers.set("x-project-id", headers["x-project-id"]);
      request.headers.set("x-sdk-date", headers["x-sdk-date"]);
      request.headers.set("authorization", authorization(keys, request.method, url, headers, body));
      return request;
    },
  };
}
