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
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	project := os.Getenv("HUAWEICLOUD_SDK_PROJECT_ID")
	jobs := newClient(os.Getenv("MODELARTS_ENDPOINT"), AccessKey{
		ID:        os.Getenv("HUAWEICLOUD_SDK_AK"),
		Secret:    os.Getenv("HUAWEICLOUD_SDK_SK"),
		ProjectID: project,
	})

	name := fmt.Sprintf("from-go-%d", time.Now().UnixMilli())
	job, _, err := jobs.CreateTrainingJob(ctx, project).
		CreateTrainingJobRequest(jobRequest(name, os.Getenv("MODELARTS_OBS"))).Execute()
	if err != nil {
		return explain(err)
	}
	id := job.Metadata.GetId()
	fmt.Println("created", name, id)
	if err := follow(ctx, jobs, project, id); err != nil {
		return err
	}

	key := modelarts.KNOWNFILTERKEY_NAME
	filter := modelarts.NewJobFilter(modelarts.FilterKey{KnownFilterKey: &key}, []string{name})
	filter.SetOperator(modelarts.FILTEROPERATOR_LIKE)
	search := modelarts.NewListTrainingJobsRequest()
	search.SetLimit(10)
	search.SetFilters([]modelarts.JobFilter{*filter})
	page, _, err := jobs.ListTrainingJobs(ctx, project).ListTrainingJobsRequest(*search).Execute()
	if err != nil {
		return explain(err)
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
		Parameters: []modelarts.ParameterRequest{{Name: ptr("epochs"), Value: ptr("3")}},
	})
	request.SetSpec(modelarts.JobSpecRequest{
		Resource: &modelarts.JobResourceRequest{
			FlavorId:  ptr("modelarts.vm.cpu.2u"),
			NodeCount: ptr[int32](1),
		},
	})
	return *request
}

// follow prints each phase until one is final. An unknown phase is not final.
func follow(ctx context.Context, jobs *modelarts.TrainingJobsAPIService, project, id string) error {
	for last := ""; ; time.Sleep(200 * time.Millisecond) {
		job, _, err := jobs.ShowTrainingJobDetails(ctx, project, id).Execute()
		if err != nil {
			return explain(err)
		}
		phase := job.Status.GetPhase()
		if text := phaseText(phase); text != last {
			fmt.Println("phase", text)
			last = text
		}
		if phase.KnownPhase == nil {
			continue
		}
		switch *phase.KnownPhase {
		case modelarts.KNOWNPHASE_COMPLETED, modelarts.KNOWNPHASE_FAILED,
			modelarts.KNOWNPHASE_TERMINATED, modelarts.KNOWNPHASE_ABNORMAL:
			return nil
		}
	}
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
		page, _, err := jobs.ListTrainingJobEvents(ctx, project, id).
			Offset(int32(len(events))).Limit(5).Execute()
		if err != nil {
			return nil, 0, explain(err)
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

// explain adds the code of the service to an error: a missing job has the code ModelArts.2775, not
// the status 404.
func explain(err error) error {
	if failed, ok := err.(*modelarts.GenericOpenAPIError); ok {
		if refused, ok := failed.Model().(modelarts.ApiError); ok {
			return fmt.Errorf("%w: %s: %s", err, refused.GetErrorCode(), refused.GetErrorMsg())
		}
	}
	return err
}

func ptr[T any](value T) *T { return &value }
