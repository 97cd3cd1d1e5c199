import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
 * with the name of a case. {@code ../responses.py} serves the lists of {@code pagination.json}. This client logs in
 * with a password, so the signatures do not apply to it.
 */
public final class Vectors {
    /** Runs a case; returns false if it does not apply to this client. */
    private interface Run {
        boolean of(JsonNode test) throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String ENDPOINT = System.getenv("MODELARTS_VECTORS_ENDPOINT");

    private final Policy policy = new Policy(null);

    private Vectors() throws IOException {}

    public static void main(String[] args) throws Exception {
        if (ENDPOINT == null) {
            var command = "python3 ../responses.py java -cp out:client:openapi-generator.jar Vectors";
            System.out.println("pagination.json is omitted; run `" + command + "`, which serves its lists");
        }
        var vectors = new Vectors();
        var files = new LinkedHashMap<String, Run>();
        files.put("pagination", vectors::pagination);
        files.put("events", vectors.events());
        files.put("waiters", vectors::waiters);
        files.put("errors", vectors::errors);
        var directory = System.getenv().getOrDefault("MODELARTS_VECTORS", "../../vectors");
        for (var entry : files.entrySet()) {
            var file = new File(directory, entry.getKey() + ".json");
            var count = 0;
            for (var test : JSON.readTree(file).get("cases")) {
                count += entry.getValue().of(test) ? 1 : 0;
            }
            if (count > 0) {
                System.out.println("ok " + entry.getKey() + " " + count);
            }
        }
    }

    private static void check(JsonNode test, Object value, Object expected) {
        if (!value.equals(expected)) {
            throw new AssertionError(test.get("name") + ": " + value + " instead of " + expected);
        }
    }

    private boolean pagination(JsonNode test) throws Exception {
        if (ENDPOINT == null || test.has("needs") || !test.get("operation").asText().equals("ListTrainingJobEvents")) {
            return false;
        }
        var client = new ApiClient();
        client.updateBaseUri(ENDPOINT);
        var events = FirstJob.allEvents(policy, new TrainingJobsApi(client), test.get("name").asText(), "j");
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

    private Run events() {
        var catalogue = policy.description.get("x-events");
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

    private boolean waiters(JsonNode test) {
        var waiter = policy.waiter(test.get("waiter").asText());
        var body = test.path("body");
        var text = test.path("text").asText(body.toString());
        var failed = test.get("status").asInt() >= 400;
        var found = failed ? Policy.outcome(waiter, Policy.Refusal.of(text)) : Policy.outcome(waiter, body);
        check(test, found, test.get("outcome").asText());
        return true;
    }

    private boolean errors(JsonNode test) {
        var refusal = Policy.Refusal.of(test.get("body").asText());
        var expected = test.get("expected");
        check(test, refusal.code(), expected.get("code").asText(""));
        check(test, refusal.message(), expected.get("message").asText(""));
        var retry = policy.retry(test.get("status").asInt(), refusal, test.get("effect").asText());
        check(test, retry, expected.get("retry").asText());
        return true;
    }
}
