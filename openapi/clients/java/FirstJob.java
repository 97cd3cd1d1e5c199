import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
import modelarts.model.JobStatus;
import modelarts.model.KnownFilterKey;
import modelarts.model.KnownJobKind;
import modelarts.model.ListTrainingJobsRequest;
import modelarts.model.Parameter;
import modelarts.model.TrainingJob;
import modelarts.model.TrainingJobEvent;

/**
 * The first training job, with the client that openapi-generator has made. Logs in with a password. Runs on the
 * emulator as on the service.
 */
public final class FirstJob {
    private final String project = setting("HUAWEICLOUD_SDK_PROJECT_ID");
    private final TrainingJobsApi jobs;
    private final Policy policy = new Policy(this::login);
    private volatile String token;
    private String phase = "";

    private FirstJob() throws IOException, InterruptedException {
        var client = new ApiClient();
        client.updateBaseUri(setting("MODELARTS_ENDPOINT"));
        client.setRequestInterceptor(request -> request.header("X-Auth-Token", token));
        jobs = new TrainingJobsApi(client);
        login();
    }

    public static void main(String[] args) throws Exception {
        try {
            new FirstJob().run("from-java-" + System.currentTimeMillis(), setting("MODELARTS_OBS"));
        } catch (ApiException error) {
            // A missing job has the code ModelArts.2775 in the body, not the status 404.
            System.err.println("status " + error.getCode() + ": " + error.getResponseBody());
            System.exit(1);
        }
    }

    private void login() throws IOException, InterruptedException {
        token = Login.token(
                setting("OS_AUTH_URL"),
                setting("OS_USER_DOMAIN_NAME"),
                setting("OS_USERNAME"),
                setting("OS_PASSWORD"),
                project);
    }

    private void run(String name, String obs) throws ApiException, IOException, InterruptedException {
        var request = request(name, obs);
        var job = policy.call("CreateTrainingJob", () -> jobs.createTrainingJob(project, request));
        var id = job.getMetadata().getId();
        System.out.println("created " + name + " " + id);
        var outcome = policy.await("TrainingJobEnded", () -> jobs.showTrainingJobDetails(project, id), this::report);
        System.out.println("outcome " + outcome);

        var filter = new JobFilter()
                .key(new FilterKey(KnownFilterKey.NAME))
                .operator(FilterOperator.LIKE)
                .value(List.of(name));
        var search = new ListTrainingJobsRequest().limit(10).addFiltersItem(filter);
        var page = policy.call("ListTrainingJobs", () -> jobs.listTrainingJobs(project, search));
        for (var found : page.getItems() == null ? List.<TrainingJob>of() : page.getItems()) {
            System.out.println("listed " + found.getMetadata().getName());
        }
        var events = allEvents(policy, jobs, project, id);
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
                        .addParametersItem(new Parameter().name("epochs").value("3")))
                .spec(new JobSpecRequest()
                        .resource(new JobResourceRequest()
                                .flavorId("modelarts.vm.cpu.2u")
                                .nodeCount(1)));
    }

    /** Prints the phase of a job, if it has changed. An unknown phase is kept as text. */
    private void report(TrainingJob job) {
        var current = Optional.ofNullable(job.getStatus())
                .map(JobStatus::getPhase)
                .map(known -> known.getActualInstance().toString())
                .orElse("");
        if (!current.equals(phase)) {
            System.out.println("phase " + current);
        }
        phase = current;
    }

    /** The rows of all pages of a list, and the number of pages. */
    record Events(List<TrainingJobEvent> rows, int pages) {}

    /** Reads all pages by x-pagination: the offset counts entries, the total may be text. */
    static Events allEvents(Policy policy, TrainingJobsApi jobs, String project, String id)
            throws ApiException, IOException, InterruptedException {
        var events = new ArrayList<TrainingJobEvent>();
        for (var pages = 1; ; pages++) {
            var page = policy.call("ListTrainingJobEvents", () -> jobs.listTrainingJobEvents(
                    project, id, events.size(), 5, null, null, null, null, null, null, null));
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
            System.err.println("error: " + name + " is not set; CLIENTS.md lists the variables");
            System.exit(1);
        }
        return value;
    }
}
