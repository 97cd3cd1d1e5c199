package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"modelarts-first-job/modelarts"
)

// vector is a case of any file; each file has some of the fields.
type vector struct {
	Name, Needs, Operation      string
	Method, Target              string
	Headers                     map[string]string
	Body                        any
	BodyBase64                  string `json:"body_base64"`
	AccessKey                   string `json:"access_key"`
	SecretKey                   string `json:"secret_key"`
	Authorization               string
	Expected                    any
	Text, Kind, Waiter, Outcome string
	Effect                      string
	Exact                       bool
	Fields                      map[string]any
	Status                      int
}

// extensions holds the extensions of the description on which the vectors depend.
type extensions struct {
	Events struct {
		Placeholders []struct{ Name, Pattern string }
		Kinds        []struct {
			Kind  string
			Texts struct{ Guide, API []string }
		}
	} `json:"x-events"`
	Waiters []struct {
		Name, Field string
		Outcomes    []struct{ Value, Error, Outcome string }
	} `json:"x-waiters"`
	Errors []struct {
		Code     string
		Status   int
		Retry    map[string]string
		OnlyWith string `json:"retry-only-with"`
	} `json:"x-error-table"`
}

// TestVectors runs the files of openapi/vectors that apply to this client, and prints
// `ok FILE COUNT` for each.
func TestVectors(t *testing.T) {
	directory := os.Getenv("MODELARTS_VECTORS")
	if directory == "" {
		directory = "../../vectors"
	}
	for file, prepare := range map[string]func(*testing.T) func(*testing.T, vector) bool{
		"signing":    func(*testing.T) func(*testing.T, vector) bool { return signing },
		"pagination": func(*testing.T) func(*testing.T, vector) bool { return pagination },
		"events":     events,
		"waiters":    waiters,
		"errors":     errorAnswers,
	} {
		var vectors struct{ Cases []vector }
		if err := readJSON(filepath.Join(directory, file+".json"), &vectors); err != nil {
			t.Fatal(err)
		}
		run, count := prepare(t), 0
		for _, v := range vectors.Cases {
			if run(t, v) {
				count++
			}
		}
		fmt.Println("ok", file, count)
	}
}

func readJSON(file string, value any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

func describe(t *testing.T) (description extensions) {
	if err := readJSON(os.Getenv("MODELARTS_DESCRIPTION"), &description); err != nil {
		t.Fatal(err)
	}
	return description
}

func check(t *testing.T, v vector, value, expected any) {
	if !reflect.DeepEqual(value, expected) {
		t.Fatalf("%s: %v instead of %v", v.Name, value, expected)
	}
}

func signing(t *testing.T, v vector) bool {
	if v.Needs != "" {
		return false
	}
	headers := map[string]string{}
	for name, value := range v.Headers {
		headers[strings.ToLower(name)] = value
	}
	body, err := base64.StdEncoding.DecodeString(v.BodyBase64)
	if v.BodyBase64 == "" {
		body = []byte(v.Body.(string))
	}
	target, err2 := url.Parse("https://" + headers["host"] + v.Target)
	if err != nil || err2 != nil {
		t.Fatal(v.Name, err, err2)
	}
	key := AccessKey{ID: v.AccessKey, Secret: v.SecretKey}
	check(t, v, key.Authorization(v.Method, target, headers, body), v.Authorization)
	return true
}

func pagination(t *testing.T, v vector) bool {
	if v.Needs != "" || v.Operation != "ListTrainingJobEvents" {
		return false
	}
	settings := modelarts.NewConfiguration()
	settings.Servers = modelarts.ServerConfigurations{{URL: os.Getenv("MODELARTS_ENDPOINT")}}
	jobs := modelarts.NewAPIClient(settings).TrainingJobsAPI
	events, _, err := allEvents(context.Background(), jobs, v.Name, "j")
	if err != nil {
		t.Fatal(v.Name, err)
	}
	messages := []any{}
	for _, event := range events {
		messages = append(messages, event.GetMessage())
	}
	check(t, v, messages, v.Expected)
	return true
}

var placeholder = regexp.MustCompile(`\\\{(\w+)\\\}`)

// pattern returns an expression for the texts that a template of x-events produces. forms maps each
// placeholder to its pattern.
func pattern(template string, forms map[string]string) *regexp.Regexp {
	template = regexp.QuoteMeta(strings.TrimSuffix(template, "."))
	source := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		name := placeholder.FindStringSubmatch(found)[1]
		return "(?P<" + name + ">" + forms[name] + ")"
	})
	return regexp.MustCompile(`(?is)^` + source + `\.?$`)
}

// placeholderValue returns a number, a list or text. JSON has one type of numbers, which is
// float64.
func placeholderValue(name, text string) any {
	switch name {
	case "seconds", "exit_code":
		number, _ := strconv.ParseFloat(text, 64)
		return number
	case "limit":
		hours, _ := strconv.ParseFloat(strings.Fields(text)[0], 64)
		return 3600 * hours
	case "files":
		var files []any
		for _, file := range strings.Split(text, ", ") {
			files = append(files, file)
		}
		return files
	}
	return text
}

func events(t *testing.T) func(*testing.T, vector) bool {
	type template struct {
		kind string
		text *regexp.Regexp
	}
	catalogue, forms := describe(t).Events, map[string]string{}
	for _, placeholder := range catalogue.Placeholders {
		forms[placeholder.Name] = placeholder.Pattern
	}
	var templates []template
	for _, kind := range catalogue.Kinds {
		for _, text := range append(kind.Texts.Guide, kind.Texts.API...) {
			templates = append(templates, template{kind.Kind, pattern(text, forms)})
		}
	}
	return func(t *testing.T, v vector) bool {
		if !v.Exact && v.Kind != "Other" {
			return false
		}
		found, values := "Other", map[string]any{}
		for _, template := range templates {
			match := template.text.FindStringSubmatch(strings.TrimSpace(v.Text))
			if match == nil || found == template.kind {
				continue
			}
			if found != "Other" {
				t.Fatalf("%s: %s and %s", v.Name, found, template.kind)
			}
			found = template.kind
			for i, name := range template.text.SubexpNames()[1:] {
				values[name] = placeholderValue(name, match[i+1])
			}
		}
		for name, value := range v.Fields {
			if value == nil {
				delete(v.Fields, name)
			}
		}
		check(t, v, found, v.Kind)
		check(t, v, values, v.Fields)
		return true
	}
}

func waiters(t *testing.T) func(*testing.T, vector) bool {
	description := describe(t)
	return func(t *testing.T, v vector) bool {
		for _, waiter := range description.Waiters {
			if waiter.Name != v.Waiter {
				continue
			}
			outcome, path, failed := "wait", strings.Split(waiter.Field, "."), v.Status >= 400
			if failed {
				outcome, path = "error", []string{"error_code"}
			}
			answer := v.Body
			for _, step := range path {
				fields, _ := answer.(map[string]any)
				answer = fields[step]
			}
			for _, row := range waiter.Outcomes {
				known := row.Value
				if failed {
					known = row.Error
				}
				if known != "" && known == answer {
					outcome = row.Outcome
				}
			}
			check(t, v, outcome, v.Outcome)
			return true
		}
		t.Fatal(v.Name, "no waiter is called", v.Waiter)
		return false
	}
}

// readError returns the code and the message of an error response, as the service, its gateways and
// the identity service spell them.
func readError(text string) (code, message string) {
	var body map[string]any
	if json.Unmarshal([]byte(text), &body) != nil {
		message = strings.TrimSpace(text)
		if strings.HasPrefix(message, "<") {
			message = ""
		}
		return "", message
	}
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

// errorAnswers checks the code and the message that clients read from error responses, and the
// condition for sending the request again.
func errorAnswers(t *testing.T) func(*testing.T, vector) bool {
	table := describe(t).Errors
	retry := func(code, message string, status int, effect string) string {
		if (status == 401 || status == 403) && strings.Contains(message, "token expires") {
			return "token"
		}
		// The prefix of gateway codes has three spellings.
		code = strings.NewReplacer("APIGW.", "APIG.", "APIC.", "APIG.").Replace(code)
		for _, row := range table {
			if row.Code == code && row.Status == status {
				if !strings.Contains(message, row.OnlyWith) {
					return "never"
				}
				return row.Retry[effect]
			}
		}
		switch status {
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
	orNil := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	return func(t *testing.T, v vector) bool {
		code, message := readError(v.Body.(string))
		check(t, v, map[string]any{
			"code": orNil(code), "message": orNil(message),
			"retry": retry(code, message, v.Status, v.Effect),
		}, v.Expected)
		return true
	}
}
