import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import modelarts.ApiClient;
import modelarts.ApiException;
import modelarts.api.TrainingJobsApi;
import modelarts.model.CreateTrainingJobRequest;
import modelarts.model.FilterKey;
import modelarts.model.FilterOperator;
import modelarts.model.IntegerOrText;
import modelarts.model.JobAlgorithmRequest;
import modelarts.model.JobEngineRequest;
import modelarts.model.JobFilter;
import modelarts.model.JobKind;
import modelarts.model.JobMetadataRequest;
import modelarts.model.JobResourceRequest;
import modelarts.model.JobSpecRequest;
import modelarts.model.KnownFilterKey;
import modelarts.model.KnownJobKind;
import modelarts.model.KnownPhase;
import modelarts.model.ListTrainingJobsRequest;
import modelarts.model.ParameterRequest;
import modelarts.model.TrainingJobEvent;

/**
 * The first training job, with the client that openapi-generator has made. Logs in with a password. Runs on the
 * emulator as on the service.
 */
public final class FirstJob {
    private static final Set<KnownPhase> FINAL =
            EnumSet.of(KnownPhase.COMPLETED, KnownPhase.FAILED, KnownPhase.TERMINATED, KnownPhase.ABNORMAL);

    private final TrainingJobsApi jobs;
    private final String project;

    private FirstJob(TrainingJobsApi jobs, String project) {
        this.jobs = jobs;
        this.project = project;
    }

    public static void main(String[] args) throws Exception {
        var project = setting("HUAWEICLOUD_SDK_PROJECT_ID");
        var token = Login.token(
                setting("OS_AUTH_URL"),
                setting("OS_USER_DOMAIN_NAME"),
                setting("OS_USERNAME"),
                setting("OS_PASSWORD"),
                project);
        var client = new ApiClient();
        client.updateBaseUri(setting("MODELARTS_ENDPOINT"));
        client.setRequestInterceptor(request -> request.header("X-Auth-Token", token));
        var first = new FirstJob(new TrainingJobsApi(client), project);
        try {
            first.run("from-java-" + System.currentTimeMillis(), setting("MODELARTS_OBS"));
        } catch (ApiException error) {
            // A missing job has the code ModelArts.2775 in the body, not the status 404.
            System.err.println("status " + error.getCode() + ": " + error.getResponseBody());
            System.exit(1);
        }
    }

    private void run(String name, String obs) throws ApiException, InterruptedException {
        var job = jobs.createTrainingJob(project, request(name, obs));
        var id = job.getMetadata().getId();
        System.out.println("created " + name + " " + id);
        follow(id);

        var filter = new JobFilter()
                .key(new FilterKey(KnownFilterKey.NAME))
                .operator(FilterOperator.LIKE)
                .value(List.of(name));
        var page = jobs.listTrainingJobs(
                project, new ListTrainingJobsRequest().limit(10).addFiltersItem(filter));
        for (var found : page.getItems()) {
            System.out.println("listed " + found.getMetadata().getName());
        }
        var events = allEvents(jobs, project, id);
        System.out.println("events " + events.rows().size() + " pages " + events.pages());
    }

    private static CreateTrainingJobRequest request(String name, String obs) {
        return new CreateTrainingJobRequest()
                .kind(new JobKind(KnownJobKind.JOB))
                .metadata(new JobMetadataRequest().name(name).description("From Java"))
                .algorithm(new JobAlgorithmRequest()
                        .codeDir(obs + "/code/")
                        .bootFile(obs + "/code/train.py")
                        .engine(new JobEngineRequest()
                                .engineName("PyTorch")
                                .engineVersion("pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"))
                        .addParametersItem(new ParameterRequest().name("epochs").value("3")))
                .spec(new JobSpecRequest()
                        .resource(new JobResourceRequest()
                                .flavorId("modelarts.vm.cpu.2u")
                                .nodeCount(1)));
    }

    /** Prints each phase until one is final. An unknown phase is kept as text, and is not final. */
    private void follow(String id) throws ApiException, InterruptedException {
        var last = "";
        while (true) {
            var phase = jobs.showTrainingJobDetails(project, id)
                    .getStatus()
                    .getPhase()
                    .getActualInstance();
            if (!phase.toString().equals(last)) {
                last = phase.toString();
                System.out.println("phase " + last);
            }
            if (phase instanceof KnownPhase && FINAL.contains(phase)) {
                return;
            }
            Thread.sleep(200);
        }
    }

    /** The rows of all pages of a list, and the number of pages. */
    record Events(List<TrainingJobEvent> rows, int pages) {}

    /** Reads all pages by x-pagination: the offset counts entries, the total may be text. */
    static Events allEvents(TrainingJobsApi jobs, String project, String id) throws ApiException {
        var events = new ArrayList<TrainingJobEvent>();
        for (var pages = 1; ; pages++) {
            var page = jobs.listTrainingJobEvents(
                    project, id, events.size(), 5, null, null, null, null, null, null, null);
            var rows = page.getEvents() == null ? List.<TrainingJobEvent>of() : page.getEvents();
            events.addAll(rows);
            if (rows.isEmpty() || events.size() >= integer(page.getTotal())) {
                return new Events(events, pages);
            }
        }
    }

    /** Reads a number that may have arrived as text. */
    private static long integer(IntegerOrText number) {
        return number == null ? 0 : Long.parseLong(number.getActualInstance().toString());
    }

    private static String setting(String name) {
        var value = System.getenv(name);
        if (value == null || value.isEmpty()) {
            throw new IllegalArgumentException(name + " is not set");
        }
        return value;
    }
}
