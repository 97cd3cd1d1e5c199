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

var endpoint = os.Getenv("MODELARTS_VECTORS_ENDPOINT")

// TestVectors runs the files of openapi/vectors that apply to this client, and prints
// `ok FILE COUNT` for each. `../responses.py` serves the lists of `pagination.json`.
func TestVectors(t *testing.T) {
	directory := os.Getenv("MODELARTS_VECTORS")
	if directory == "" {
		directory = "../../vectors"
	}
	if endpoint == "" {
		fmt.Println("pagination.json is omitted; run `python3 ../responses.py go test -v .`, which serves its lists")
	}
	for file, run := range map[string]func(*testing.T, vector) bool{
		"signing": signing, "pagination": pagination, "events": events(t), "waiters": waiters, "errors": errors,
	} {
		var vectors struct{ Cases []vector }
		if err := readJSON(filepath.Join(directory, file+".json"), &vectors); err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, v := range vectors.Cases {
			if run(t, v) {
				count++
			}
		}
		if count > 0 {
			fmt.Println("ok", file, count)
		}
	}
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
	if endpoint == "" || v.Needs != "" || v.Operation != "ListTrainingJobEvents" {
		return false
	}
	settings := modelarts.NewConfiguration()
	settings.Servers = modelarts.ServerConfigurations{{URL: endpoint}}
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
	var description struct {
		Events struct {
			Placeholders []struct{ Name, Pattern string }
			Kinds        []struct {
				Kind  string
				Texts struct{ Guide, API []string }
			}
		} `json:"x-events"`
	}
	if err := readDescription(&description); err != nil {
		t.Fatal(err)
	}
	catalogue, forms := description.Events, map[string]string{}
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

func waiters(t *testing.T, v vector) bool {
	var err error
	if v.Status >= 400 {
		if v.Text == "" {
			text, _ := json.Marshal(v.Body)
			v.Text = string(text)
		}
		err = newRefused(v.Status, v.Text)
	}
	check(t, v, waiter(v.Waiter).outcome(v.Body, err), v.Outcome)
	return true
}

func errors(t *testing.T, v vector) bool {
	orNil := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	refused := newRefused(v.Status, v.Body.(string))
	check(t, v, map[string]any{
		"code": orNil(refused.Code), "message": orNil(refused.Message), "retry": refused.Retry(v.Effect),
	}, v.Expected)
	return true
}
