import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import modelarts.ApiClient;
import modelarts.api.TrainingJobsApi;
import modelarts.model.TrainingJobEvent;

/**
 * Runs the files of {@code openapi/vectors} that apply to this client. Prints {@code ok FILE COUNT} for each, or fails
 * with the name of a case. This client logs in with a password, so the signatures do not apply to it.
 */
public final class Vectors {
    /** Runs a case; returns false if it does not apply to this client. */
    private interface Run {
        boolean of(JsonNode test) throws Exception;
    }

    private interface Prepare {
        Run run() throws IOException;
    }

    private static final ObjectMapper JSON = new ObjectMapper();

    private Vectors() {}

    public static void main(String[] args) throws Exception {
        var directory = System.getenv().getOrDefault("MODELARTS_VECTORS", "../../vectors");
        var files = new LinkedHashMap<String, Prepare>();
        files.put("pagination", () -> Vectors::pagination);
        files.put("events", Vectors::events);
        files.put("waiters", Vectors::waiters);
        files.put("errors", Vectors::errors);
        for (var entry : files.entrySet()) {
            var file = new File(directory, entry.getKey() + ".json");
            var run = entry.getValue().run();
            var count = 0;
            for (var test : JSON.readTree(file).get("cases")) {
                count += run.of(test) ? 1 : 0;
            }
            System.out.println("ok " + entry.getKey() + " " + count);
        }
    }

    private static JsonNode description() throws IOException {
        return JSON.readTree(new File(System.getenv("MODELARTS_DESCRIPTION")));
    }

    private static void check(JsonNode test, Object value, Object expected) {
        if (!value.equals(expected)) {
            throw new AssertionError(test.get("name") + ": " + value + " instead of " + expected);
        }
    }

    private static boolean pagination(JsonNode test) throws Exception {
        if (test.has("needs") || !test.get("operation").asText().equals("ListTrainingJobEvents")) {
            return false;
        }
        var client = new ApiClient();
        client.updateBaseUri(System.getenv("MODELARTS_ENDPOINT"));
        var events = FirstJob.allEvents(new TrainingJobsApi(client), test.get("name").asText(), "j");
        var messages = events.rows().stream().map(TrainingJobEvent::getMessage).toList();
        check(test, messages, JSON.convertValue(test.get("expected"), List.class));
        return true;
    }

    private static final Pattern PLACEHOLDER = Pattern.compile("\\{(\\w+)}");

    /** A text of a kind, as a pattern with a group for each placeholder. */
    private record Template(String kind, Pattern pattern, List<String> names) {
        /** Creates a template. {@code forms} maps each placeholder to its pattern. */
        static Template of(String kind, String text, Map<String, String> forms) {
            var source = new StringBuilder();
            var names = new ArrayList<String>();
            var end = 0;
            for (var found = PLACEHOLDER.matcher(text); found.find(); end = found.end()) {
                var name = found.group(1);
                names.add(name);
                source.append(Pattern.quote(text.substring(end, found.start())));
                source.append("(" + forms.get(name) + ")");
            }
            source.append(Pattern.quote(text.substring(end).replaceFirst("\\.$", "")));
            source.append("\\.?");
            var flags = Pattern.DOTALL | Pattern.CASE_INSENSITIVE;
            return new Template(kind, Pattern.compile(source.toString(), flags), names);
        }

        /** Returns the values of the placeholders. */
        Map<String, Object> values(Matcher match) {
            var values = new LinkedHashMap<String, Object>();
            for (var i = 0; i < names.size(); i++) {
                values.put(names.get(i), value(names.get(i), match.group(i + 1)));
            }
            return values;
        }

        private static Object value(String name, String text) {
            return switch (name) {
                case "seconds", "exit_code" -> Double.valueOf(text);
                case "limit" -> 3600 * Double.parseDouble(text.split(" ")[0]);
                case "files" -> List.of(text.split(", "));
                default -> text;
            };
        }
    }

    private static Run events() throws IOException {
        var catalogue = description().get("x-events");
        var forms = new LinkedHashMap<String, String>();
        for (var placeholder : catalogue.get("placeholders")) {
            forms.put(placeholder.get("name").asText(), placeholder.get("pattern").asText());
        }
        var templates = new ArrayList<Template>();
        for (var kind : catalogue.get("kinds")) {
            for (var wording : kind.get("texts")) {
                wording.forEach(text -> templates.add(Template.of(kind.get("kind").asText(), text.asText(), forms)));
            }
        }
        return test -> {
            var expected = test.get("kind").asText();
            if (!test.get("exact").asBoolean() && !expected.equals("Other")) {
                return false;
            }
            Set<String> kinds = new HashSet<>();
            Map<String, Object> values = Map.of();
            for (var template : templates) {
                var match = template.pattern().matcher(test.get("text").asText().strip());
                if (match.matches() && kinds.add(template.kind())) {
                    values = template.values(match);
                }
            }
            check(test, kinds.isEmpty() ? Set.of("Other") : kinds, Set.of(expected));
            var fields = new LinkedHashMap<String, Object>();
            test.get("fields").properties().forEach(field -> {
                var value = field.getValue();
                if (!value.isNull()) {
                    fields.put(field.getKey(), value.isNumber() ? value.asDouble() : JSON.convertValue(value, Object.class));
                }
            });
            check(test, values, fields);
            return true;
        };
    }

    private static Run waiters() throws IOException {
        var waiters = description().get("x-waiters");
        return test -> {
            var failed = test.get("status").asInt() >= 400;
            for (var waiter : waiters) {
                if (!waiter.get("name").equals(test.get("waiter"))) {
                    continue;
                }
                var path = failed ? "/error_code" : "/" + waiter.get("field").asText().replace('.', '/');
                var body = test.has("body") ? test.get("body") : JsonNodeFactory.instance.objectNode();
                var outcome = failed ? "error" : "wait";
                for (var row : waiter.get("outcomes")) {
                    if (body.at(path).equals(row.get(failed ? "error" : "value"))) {
                        outcome = row.get("outcome").asText();
                    }
                }
                check(test, outcome, test.get("outcome").asText());
                return true;
            }
            throw new AssertionError("no waiter is called " + test.get("waiter"));
        };
    }

    /** The code and the message of an error response; an absent one is empty. */
    private record ErrorAnswer(String code, String message) {
        /** Reads the spellings of the service, its gateways and the identity service. */
        static ErrorAnswer of(String text) {
            JsonNode body;
            try {
                body = JSON.readTree(text);
            } catch (JsonProcessingException notJson) {
                return new ErrorAnswer("", text.startsWith("<") ? "" : text.strip());
            }
            body = body.path("error").isObject() ? body.get("error") : body;
            return new ErrorAnswer(
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

        /** Returns the condition for sending the request again. */
        String retry(JsonNode table, int status, String effect) {
            if ((status == 401 || status == 403) && message.contains("token expires")) {
                return "token";
            }
            // The prefix of gateway codes has three spellings.
            var known = code.replaceFirst("^(APIGW|APIC)\\.", "APIG.");
            for (var row : table) {
                if (row.get("code").asText().equals(known) && row.get("status").asInt() == status) {
                    var passes = message.contains(row.path("retry-only-with").asText());
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
    }

    private static Run errors() throws IOException {
        var table = description().get("x-error-table");
        return test -> {
            var answer = ErrorAnswer.of(test.get("body").asText());
            var expected = test.get("expected");
            check(test, answer.code(), expected.get("code").asText(""));
            check(test, answer.message(), expected.get("message").asText(""));
            var retry = answer.retry(table, test.get("status").asInt(), test.get("effect").asText());
            check(test, retry, expected.get("retry").asText());
            return true;
        };
    }
}
