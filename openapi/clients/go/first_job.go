// The first training job, with the client that openapi-generator has made.
// Signs with an access key. Runs on the emulator as on the service.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"modelarts-first-job/modelarts"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	project := setting("HUAWEICLOUD_SDK_PROJECT_ID")
	jobs := newClient(setting("MODELARTS_ENDPOINT"), AccessKey{
		ID:        setting("HUAWEICLOUD_SDK_AK"),
		Secret:    setting("HUAWEICLOUD_SDK_SK"),
		ProjectID: project,
	})

	name := fmt.Sprintf("from-go-%d", time.Now().UnixMilli())
	request := jobRequest(name, setting("MODELARTS_OBS"))
	job, err := call(ctx, "CreateTrainingJob",
		jobs.CreateTrainingJob(ctx, project).CreateTrainingJobRequest(request).Execute)
	if err != nil {
		return err
	}
	id := job.Metadata.GetId()
	fmt.Println("created", name, id)
	outcome, err := follow(ctx, jobs, project, id)
	if err != nil {
		return err
	}
	fmt.Println("outcome", outcome)

	key := modelarts.KNOWNFILTERKEY_NAME
	filter := modelarts.NewJobFilter(modelarts.FilterKey{KnownFilterKey: &key}, []string{name})
	filter.SetOperator(modelarts.FILTEROPERATOR_LIKE)
	search := modelarts.NewListTrainingJobsRequest()
	search.SetLimit(10)
	search.SetFilters([]modelarts.JobFilter{*filter})
	page, err := call(ctx, "ListTrainingJobs",
		jobs.ListTrainingJobs(ctx, project).ListTrainingJobsRequest(*search).Execute)
	if err != nil {
		return err
	}
	for _, found := range page.Items {
		fmt.Println("listed", found.Metadata.GetName())
	}

	events, pages, err := allEvents(ctx, jobs, project, id)
	if err != nil {
		return err
	}
	fmt.Println("events", len(events), "pages", pages)
	return nil
}

func setting(name string) string {
	value := os.Getenv(name)
	if value == "" {
		log.Fatalf("error: %s is not set; CLIENTS.md lists the variables", name)
	}
	return value
}

func newClient(endpoint string, key AccessKey) *modelarts.TrainingJobsAPIService {
	settings := modelarts.NewConfiguration()
	settings.Servers = modelarts.ServerConfigurations{{URL: endpoint}}
	settings.HTTPClient = &http.Client{Transport: key, Timeout: time.Minute}
	return modelarts.NewAPIClient(settings).TrainingJobsAPI
}

func jobRequest(name, obs string) modelarts.CreateTrainingJobRequest {
	kind := modelarts.KNOWNJOBKIND_JOB
	request := modelarts.NewCreateTrainingJobRequest(
		modelarts.JobKind{KnownJobKind: &kind}, *modelarts.NewJobMetadataRequest(name))
	request.SetAlgorithm(modelarts.JobAlgorithmRequest{
		CodeDir:  ptr(obs + "/code/"),
		BootFile: ptr(obs + "/code/train.py"),
		Engine: &modelarts.JobEngineRequest{
			EngineName:    ptr("PyTorch"),
			EngineVersion: ptr("pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"),
		},
		Parameters: []modelarts.Parameter{{Name: ptr("epochs"), Value: ptr("3")}},
	})
	request.SetSpec(modelarts.JobSpecRequest{
		Resource: &modelarts.JobResourceRequest{
			FlavorId:  ptr("modelarts.vm.cpu.2u"),
			NodeCount: ptr[int32](1),
		},
	})
	return *request
}

// follow prints the phases of a job until it has ended, and returns the outcome.
func follow(ctx context.Context, jobs *modelarts.TrainingJobsAPIService, project, id string) (string, error) {
	last := ""
	report := func(job *modelarts.TrainingJob) {
		if phase := phaseText(job.Status.GetPhase()); phase != last {
			fmt.Println("phase", phase)
			last = phase
		}
	}
	return wait(ctx, "TrainingJobEnded", jobs.ShowTrainingJobDetails(ctx, project, id).Execute, report)
}

func phaseText(phase modelarts.Phase) string {
	if phase.KnownPhase != nil {
		return string(*phase.KnownPhase)
	}
	if phase.String != nil {
		return *phase.String
	}
	return ""
}

// allEvents reads all pages of events, by x-pagination of ListTrainingJobEvents: the offset counts
// entries.
func allEvents(ctx context.Context, jobs *modelarts.TrainingJobsAPIService, project, id string) (
	events []modelarts.TrainingJobEvent, pages int, err error,
) {
	for {
		page, err := call(ctx, "ListTrainingJobEvents", jobs.ListTrainingJobEvents(ctx, project, id).
			Offset(int32(len(events))).Limit(5).Execute)
		if err != nil {
			return nil, 0, err
		}
		pages++
		events = append(events, page.Events...)
		total, err := integer(page.GetTotal())
		if err != nil {
			return nil, 0, err
		}
		if len(page.Events) == 0 || int64(len(events)) >= total {
			return events, pages, nil
		}
	}
}

// integer reads a number that may arrive as text.
func integer(number modelarts.IntegerOrText) (int64, error) {
	if number.String != nil {
		return strconv.ParseInt(*number.String, 10, 64)
	}
	if number.Int64 != nil {
		return *number.Int64, nil
	}
	return 0, nil
}

func ptr[T any](value T) *T { return &value }
