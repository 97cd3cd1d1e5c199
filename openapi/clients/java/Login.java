import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;

/** Logs in at the identity service with a password. */
final class Login {
    private Login() {}

    /**
     * Returns a token for a project, which is valid for a day.
     *
     * @param iam address of the identity service, with {@code /v3}
     */
    static String token(String iam, String domain, String user, String password, String projectId)
            throws IOException, InterruptedException {
        var who = Map.of("name", user, "password", password, "domain", Map.of("name", domain));
        var body = Map.of(
                "auth",
                Map.of(
                        "identity",
                        Map.of("methods", List.of("password"), "password", Map.of("user", who)),
                        "scope",
                        Map.of("project", Map.of("id", projectId))));
        var request = HttpRequest.newBuilder(URI.create(iam + "/auth/tokens"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(new ObjectMapper().writeValueAsString(body)))
                .build();
        var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        return response.headers()
                .firstValue("X-Subject-Token")
                .orElseThrow(() -> new IOException("no token, status " + response.statusCode()));
    }
}
