import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.LinkedHashMap;
import java.util.Map;
import modelarts.ApiClient;
import modelarts.ApiException;
import modelarts.api.TrainingJobsApi;
import modelarts.model.ApiError;
import modelarts.model.ListTrainingJobEventsResponse;
import modelarts.model.TrainingJob;

/**
 * Prints the value that the generated client reads from each unusual response, as {@code CASE JSON}
 * or {@code CASE ! EXCEPTION}. {@code openapi/clients/run} compares the lines with the table in
 * CLIENTS.md.
 */
public final class Awkward {
    private interface Read {
        Object of(String project) throws Exception;
    }

    private final ApiClient client = new ApiClient();
    private final TrainingJobsApi jobs;

    private Awkward(String endpoint) {
        client.updateBaseUri(endpoint);
        jobs = new TrainingJobsApi(client);
    }

    public static void main(String[] args) throws Exception {
        var endpoint = System.getenv("MODELARTS_VECTORS_ENDPOINT");
        if (endpoint == null) {
            System.err.println("error: start this program by `python3 ../responses.py`, which serves the responses");
            System.exit(1);
        }
        new Awkward(endpoint).run();
    }

    private void run() throws Exception {
        Map<String, Read> cases = new LinkedHashMap<>();
        cases.put("unknown-enum", project -> job(project).getStatus().getPhase());
        cases.put("number-as-text", project -> events(project).getTotal());
        cases.put("beyond-double", project -> job(project).getStatus().getDuration());
        cases.put("null-list", project -> {
            var events = events(project).getEvents();
            return events == null ? 0 : events.size();
        });
        cases.put("null-object", project -> job(project).getAlgorithm());
        cases.put("missing-field", project -> job(project).getStatus().getPhase());
        cases.put("extra-field", project -> job(project).getMetadata().getName());
        cases.put("missing-job", this::errorCode);
        cases.put("html-502", this::status);
        var json = new ObjectMapper();
        for (var entry : cases.entrySet()) {
            try {
                var read = entry.getValue().of(entry.getKey());
                System.out.println(entry.getKey() + " " + json.writeValueAsString(read));
            } catch (Exception error) {
                System.out.println(entry.getKey() + " ! " + error.getClass().getSimpleName());
            }
        }
    }

    private TrainingJob job(String project) throws ApiException {
        return jobs.showTrainingJobDetails(project, "c1b7e5de");
    }

    private ListTrainingJobEventsResponse events(String project) throws ApiException {
        return jobs.listTrainingJobEvents(
                project, "c1b7e5de", null, null, null, null, null, null, null, null, null);
    }

    private String errorCode(String project) throws Exception {
        try {
            job(project);
            return null;
        } catch (ApiException error) {
            // The client leaves the decoding of the body to its user.
            return client.getObjectMapper()
                    .readValue(error.getResponseBody(), ApiError.class)
                    .getErrorCode();
        }
    }

    private Integer status(String project) throws ApiException {
        try {
            job(project);
            return null;
        } catch (ApiException error) {
            return error.getCode();
        }
    }
}
