// Prints the value that the generated client reads from each unusual response, as `CASE JSON` or
// `CASE ! ERROR`. `openapi/clients/run` compares the lines with the table in CLIENTS.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"

	"modelarts-first-job/modelarts"
)

var jobs *modelarts.TrainingJobsAPIService

func show(project string) (*modelarts.TrainingJob, *http.Response, error) {
	return jobs.ShowTrainingJobDetails(context.Background(), project, "c1b7e5de").Execute()
}

func events(project string) (*modelarts.ListTrainingJobEventsResponse, *http.Response, error) {
	return jobs.ListTrainingJobEvents(context.Background(), project, "c1b7e5de").Execute()
}

// ofJob applies read to the details of a job.
func ofJob(read func(*modelarts.TrainingJob) any) func(string) (any, error) {
	return func(project string) (any, error) {
		job, _, err := show(project)
		if err != nil {
			return nil, err
		}
		return read(job), nil
	}
}

// ofEvents applies read to a page of events.
func ofEvents(read func(*modelarts.ListTrainingJobEventsResponse) any) func(string) (any, error) {
	return func(project string) (any, error) {
		page, _, err := events(project)
		if err != nil {
			return nil, err
		}
		return read(page), nil
	}
}

func errorCode(project string) (any, error) {
	_, _, err := show(project)
	var failed *modelarts.GenericOpenAPIError
	if !errors.As(err, &failed) {
		return nil, err
	}
	refused, _ := failed.Model().(modelarts.ApiError)
	return refused.ErrorCode, nil
}

func status(project string) (any, error) {
	_, response, err := show(project)
	if response == nil {
		return nil, err
	}
	return response.StatusCode, nil
}

var cases = []struct {
	name string
	read func(string) (any, error)
}{
	{"unknown-enum", ofJob(func(job *modelarts.TrainingJob) any { return job.Status.Phase })},
	{"number-as-text", ofEvents(func(page *modelarts.ListTrainingJobEventsResponse) any { return page.Total })},
	{"beyond-double", ofJob(func(job *modelarts.TrainingJob) any { return job.Status.Duration })},
	{"null-list", ofEvents(func(page *modelarts.ListTrainingJobEventsResponse) any { return len(page.Events) })},
	{"null-object", ofJob(func(job *modelarts.TrainingJob) any { return job.Algorithm })},
	{"missing-field", ofJob(func(job *modelarts.TrainingJob) any { return job.Status.Phase })},
	{"extra-field", ofJob(func(job *modelarts.TrainingJob) any { return job.Metadata.Name })},
	{"missing-job", errorCode},
	{"html-502", status},
}

func main() {
	endpoint := os.Getenv("MODELARTS_VECTORS_ENDPOINT")
	if endpoint == "" {
		log.Fatal("error: start this program by `python3 ../responses.py`, which serves the responses")
	}
	settings := modelarts.NewConfiguration()
	settings.Servers = modelarts.ServerConfigurations{{URL: endpoint}}
	jobs = modelarts.NewAPIClient(settings).TrainingJobsAPI
	for _, c := range cases {
		value, err := c.read(c.name)
		if err != nil {
			fmt.Printf("%s ! %T\n", c.name, err)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		fmt.Println(c.name, string(text))
	}
}
