import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import modelarts.ApiClient;
import modelarts.ApiException;

/** Retries and waiters, by the tables of {@code modelarts.json}. */
final class Policy {
    /** Calls an operation. */
    interface Call<T> {
        T send() throws ApiException;
    }

    /** Gets a new token, which later requests send. */
    interface Login {
        void renew() throws IOException, InterruptedException;
    }

    private static final ObjectMapper JSON =
            ApiClient.createDefaultObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    final JsonNode description;
    private final Map<String, String> effects = new HashMap<>();
    private final Login login;

    Policy(Login login) throws IOException {
        this.login = login;
        description = JSON.readTree(
                new File(System.getenv().getOrDefault("MODELARTS_DESCRIPTION", "../../modelarts.json")));
        for (var path : description.get("paths")) {
            for (var operation : path) {
                effects.put(operation.path("operationId").asText(), operation.path("x-effect").asText());
            }
        }
    }

    /** Calls an operation. Sends the request up to five times, as long as the table permits it. */
    <T> T call(String operation, Call<T> call) throws ApiException, IOException, InterruptedException {
        var renewed = false;
        for (var delay = 1; ; ) {
            try {
                return call.send();
            } catch (ApiException error) {
                var retry = retry(error.getCode(), Refusal.of(error.getResponseBody()), effects.get(operation));
                if (retry.equals("token") && !renewed) {
                    renewed = true;
                    login.renew();
                } else if (delay <= 8 && (retry.equals("backoff") || retry.equals("poll"))) {
                    Thread.sleep(1000L * Math.max(delay, retryAfter(error)));
                    delay *= 2;
                } else {
                    throw error;
                }
            }
        }
    }

    /** Returns the seconds of the header {@code Retry-After}. It may also contain a date, which this sample ignores. */
    private static int retryAfter(ApiException error) {
        var value = error.getResponseHeaders().firstValue("Retry-After").orElse("");
        return value.matches("\\d{1,6}") ? Integer.parseInt(value) : 0;
    }

    /** Returns {@code never}, {@code backoff}, {@code poll} or {@code token}, for the effect of the operation. */
    String retry(int status, Refusal refusal, String effect) {
        if ((status == 401 || status == 403) && refusal.message().contains("token expires")) {
            return "token";
        }
        // The prefix of gateway codes has three spellings.
        var code = refusal.code().replaceFirst("^(APIGW|APIC)\\.", "APIG.");
        for (var row : description.get("x-error-table")) {
            if (row.get("code").asText().equals(code) && row.get("status").asInt() == status) {
                var passes = refusal.message().contains(row.path("retry-only-with").asText());
                return passes ? row.get("retry").get(effect).asText() : "never";
            }
        }
        return switch (status) {
            case 429 -> "backoff";
            case 204 -> "poll";
            case 408, 500, 502, 503, 504 -> effect.equals("create") ? "never" : "backoff";
            default -> "never";
        };
    }

    /** The code and the message of an error response; an absent one is empty. */
    record Refusal(String code, String message) {
        /** Reads the spellings of the service, its gateways and the identity service. */
        static Refusal of(String text) {
            JsonNode body;
            try {
                body = JSON.readTree(text == null ? "" : text);
            } catch (JsonProcessingException notJson) {
                var message = text.strip();
                return new Refusal("", message.startsWith("<") ? "" : message);
            }
            body = body.path("error").isObject() ? body.get("error") : body;
            return new Refusal(
                    first(body, "error_code", "errorCode", "code"),
                    first(body, "error_msg", "error_message", "errorMsg", "message"));
        }

        private static String first(JsonNode body, String... keys) {
            for (var key : keys) {
                if (!body.path(key).asText().isEmpty()) {
                    return body.get(key).asText();
                }
            }
            return "";
        }
    }

    /**
     * Calls the operation of a waiter until a response has an outcome, and returns the outcome. Passes each successful
     * response to {@code report}.
     */
    <T> String await(String name, Call<T> call, Consumer<T> report)
            throws ApiException, IOException, InterruptedException {
        var waiter = waiter(name);
        for (var delay = 1.0; ; delay = Math.min(1.5 * delay, 30)) {
            String found;
            try {
                var answer = call(waiter.get("operation").asText(), call);
                report.accept(answer);
                found = outcome(waiter, JSON.valueToTree(answer));
            } catch (ApiException error) {
                found = outcome(waiter, Refusal.of(error.getResponseBody()));
                if (found.equals("error")) {
                    throw error;
                }
            }
            if (!found.equals("wait")) {
                return found;
            }
            Thread.sleep((long) (1000 * delay));
        }
    }

    /** Returns the waiter of this name. */
    JsonNode waiter(String name) {
        for (var waiter : description.get("x-waiters")) {
            if (waiter.get("name").asText().equals(name)) {
                return waiter;
            }
        }
        throw new IllegalArgumentException("no waiter is called " + name);
    }

    /** Returns the outcome of a waiter for the body of a response, or {@code wait} if none is defined. */
    static String outcome(JsonNode waiter, JsonNode body) {
        return outcome(waiter, "value", body.at("/" + waiter.get("field").asText().replace('.', '/')), "wait");
    }

    /** Returns the outcome of a waiter for an error response, or {@code error} if none is defined. */
    static String outcome(JsonNode waiter, Refusal refusal) {
        return outcome(waiter, "error", TextNode.valueOf(refusal.code()), "error");
    }

    private static String outcome(JsonNode waiter, String key, JsonNode value, String otherwise) {
        for (var row : waiter.get("outcomes")) {
            if (value.equals(row.get(key))) {
                return row.get("outcome").asText();
            }
        }
        return otherwise;
    }
}
