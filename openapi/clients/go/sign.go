package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"time"
)

// AccessKey signs requests with SDK-HMAC-SHA256 as they are sent.
type AccessKey struct {
	ID        string
	Secret    string
	ProjectID string
}

// RoundTrip signs a copy of the request, because a RoundTripper must not change the original.
func (key AccessKey) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		request.Body.Close()
	}
	signed := request.Clone(request.Context())
	signed.Body = io.NopCloser(bytes.NewReader(body))
	signed.Header.Set("X-Project-Id", key.ProjectID)
	signed.Header.Set("X-Sdk-Date", time.Now().UTC().Format("20060102T150405Z"))
	headers := map[string]string{"host": signed.URL.Host}
	for _, name := range []string{"Content-Type", "X-Project-Id", "X-Sdk-Date"} {
		if value := signed.Header.Get(name); value != "" {
			headers[strings.ToLower(name)] = value
		}
	}
	signed.Header.Set("Authorization", key.Authorization(signed.Method, signed.URL, headers, body))
	return http.DefaultTransport.RoundTrip(signed)
}

// Authorization returns the header of that name. The headers are those to sign, in lower case;
// x-sdk-date must be one of them.
func (key AccessKey) Authorization(method string, target *url.URL, headers map[string]string, body []byte) string {
	parts := strings.Split(target.Path, "/")
	for i := range parts {
		parts[i] = encode(parts[i])
	}
	path := strings.Join(parts, "/")
	if !strings.HasSuffix(path, "/") {
		path += "/"
	}
	query := target.Query()
	var pairs []string
	for _, name := range sortedKeys(query) {
		values := query[name]
		sort.Strings(values)
		for _, value := range values {
			pairs = append(pairs, encode(name)+"="+encode(value))
		}
	}
	names := sortedKeys(headers)
	lines := ""
	for _, name := range names {
		lines += name + ":" + strings.TrimSpace(headers[name]) + "\n"
	}
	canonical := strings.Join([]string{
		strings.ToUpper(method), path, strings.Join(pairs, "&"), lines, strings.Join(names, ";"), sha256Hex(body),
	}, "\n")
	mac := hmac.New(sha256.New, []byte(key.Secret))
	fmt.Fprintf(mac, "SDK-HMAC-SHA256\n%s\n%s", headers["x-sdk-date"], sha256Hex([]byte(canonical)))
	return fmt.Sprintf("SDK-HMAC-SHA256 Access=%s, SignedHeaders=%s, Signature=%x",
		key.ID, strings.Join(names, ";"), mac.Sum(nil))
}

// encode percent-encodes all characters except letters, digits and -_.~.
func encode(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
