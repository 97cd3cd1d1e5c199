package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"modelarts-first-job/modelarts"
)

// description holds the parts of modelarts.json that determine retries and waiters.
var description struct {
	Paths  map[string]struct{ Get, Put, Post, Delete Operation }
	Errors []struct {
		Code     string
		Status   int
		Retry    map[string]string
		OnlyWith string `json:"retry-only-with"`
	} `json:"x-error-table"`
	Waiters []Waiter `json:"x-waiters"`
}

// effects maps the id of each operation to its effect.
var effects = map[string]string{}

// Operation is an operation of the description.
type Operation struct {
	ID     string `json:"operationId"`
	Effect string `json:"x-effect"`
}

// Waiter is a row of x-waiters.
type Waiter struct {
	Name, Operation, Field string
	Outcomes               []struct{ Value, Error, Outcome string }
}

func init() {
	if err := readDescription(&description); err != nil {
		log.Fatal(err)
	}
	for _, path := range description.Paths {
		for _, operation := range []Operation{path.Get, path.Put, path.Post, path.Delete} {
			effects[operation.ID] = operation.Effect
		}
	}
}

func readDescription(value any) error {
	file := os.Getenv("MODELARTS_DESCRIPTION")
	if file == "" {
		file = "../../modelarts.json"
	}
	return readJSON(file, value)
}

func readJSON(file string, value any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// Refused is an error response. A missing job has the code ModelArts.2775, not the status 404.
type Refused struct {
	Status        int
	Code, Message string
}

func newRefused(status int, body string) *Refused {
	code, message := readError(body)
	return &Refused{status, code, message}
}

func (refused *Refused) Error() string {
	return fmt.Sprintf("status %d: %s: %s", refused.Status, refused.Code, refused.Message)
}

// Retry returns never, backoff, poll or token, for the effect of the operation.
func (refused *Refused) Retry(effect string) string {
	if (refused.Status == 401 || refused.Status == 403) && strings.Contains(refused.Message, "token expires") {
		return "token"
	}
	// The prefix of gateway codes has three spellings.
	code := strings.NewReplacer("APIGW.", "APIG.", "APIC.", "APIG.").Replace(refused.Code)
	for _, row := range description.Errors {
		if row.Code == code && row.Status == refused.Status {
			if !strings.Contains(refused.Message, row.OnlyWith) {
				return "never"
			}
			return row.Retry[effect]
		}
	}
	switch refused.Status {
	case 429:
		return "backoff"
	case 204:
		return "poll"
	case 408, 500, 502, 503, 504:
		if effect != "create" {
			return "backoff"
		}
	}
	return "never"
}

// readError returns the code and the message of an error response, as the service, its gateways and
// the identity service spell them.
func readError(text string) (code, message string) {
	var value any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if !json.Valid([]byte(text)) || decoder.Decode(&value) != nil {
		message = strings.TrimSpace(text)
		if strings.HasPrefix(message, "<") {
			message = ""
		}
		return "", message
	}
	body, _ := value.(map[string]any)
	if inner, ok := body["error"].(map[string]any); ok {
		body = inner
	}
	first := func(keys ...string) string {
		for _, key := range keys {
			if value := body[key]; value != nil && value != "" {
				return fmt.Sprint(value)
			}
		}
		return ""
	}
	return first("error_code", "errorCode", "code"), first("error_msg", "error_message", "errorMsg", "message")
}

// call calls an operation. It sends the request up to five times, as long as the table permits it.
func call[T any](ctx context.Context, operation string, execute func() (T, *http.Response, error)) (T, error) {
	for delay := time.Second; ; delay *= 2 {
		answer, response, err := execute()
		failed, ok := err.(*modelarts.GenericOpenAPIError)
		if !ok || response == nil || response.StatusCode < 400 {
			return answer, err
		}
		refused := newRefused(response.StatusCode, string(failed.Body()))
		retry := refused.Retry(effects[operation])
		if delay > 8*time.Second || retry != "backoff" && retry != "poll" {
			return answer, refused
		}
		// The header may also contain a date, which this sample ignores.
		pause := delay
		if seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")); time.Duration(seconds)*time.Second > pause {
			pause = time.Duration(seconds) * time.Second
		}
		if err := sleep(ctx, pause); err != nil {
			return answer, err
		}
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

func waiter(name string) Waiter {
	for _, waiter := range description.Waiters {
		if waiter.Name == name {
			return waiter
		}
	}
	panic("no waiter is called " + name)
}

// outcome returns the outcome of the waiter for a response, or wait or error if none is defined.
func (waiter Waiter) outcome(answer any, err error) string {
	if err != nil {
		refused, ok := err.(*Refused)
		for _, row := range waiter.Outcomes {
			if ok && row.Error != "" && row.Error == refused.Code {
				return row.Outcome
			}
		}
		return "error"
	}
	var value any
	if text, err := json.Marshal(answer); err != nil || json.Unmarshal(text, &value) != nil {
		return "wait"
	}
	for _, step := range strings.Split(waiter.Field, ".") {
		fields, _ := value.(map[string]any)
		value = fields[step]
	}
	for _, row := range waiter.Outcomes {
		if row.Value != "" && row.Value == value {
			return row.Outcome
		}
	}
	return "wait"
}

// wait calls the operation of a waiter until a response has an outcome, and returns the outcome. It
// passes each successful response to report.
func wait[T any](
	ctx context.Context, name string, execute func() (T, *http.Response, error), report func(T),
) (string, error) {
	waiter := waiter(name)
	for delay := time.Second; ; delay += delay / 2 {
		answer, err := call(ctx, waiter.Operation, execute)
		if err == nil {
			report(answer)
		}
		found := waiter.outcome(answer, err)
		if found == "error" {
			return "", err
		}
		if found != "wait" {
			return found, nil
		}
		if delay > 30*time.Second {
			delay = 30 * time.Second
		}
		if err := sleep(ctx, delay); err != nil {
			return "", err
		}
	}
}
