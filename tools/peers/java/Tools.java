import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.internals.Exit;

/**
 * Apache Kafka's command-line tools, one after the other in one process: a tool that needs a process of its own spends
 * nearly all of its time on the start.
 *
 * In, a line each, parted by tabs: the file for standard input or nothing, the class, its arguments. Out: a line with
 * the exit code and the sizes of what it printed on standard output and on standard error, then both.
 */
public class Tools {
    /** Thrown where a tool would end the process. */
    static final class Ended extends Error {}

    /** With what the tool has ended, or wanted to: some catch whatever comes out of their own end, and end again. */
    private static Integer endedWith;

    /** What the end of the tool's process would run: its producer or consumer is closed by nothing else. */
    private static final List<Thread> HOOKS = new ArrayList<>();

    /** A hook that takes longer than this is left behind. */
    private static final long HOOK_MS = 30_000;

    public static void main(String[] none) throws Exception {
        PrintStream answers = System.out;
        InputStream nothing = InputStream.nullInputStream();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(new Thread(hook, name)));
        Exit.setExitProcedure((code, message) -> {
            if (endedWith == null) {
                endedWith = code;
                runHooks();
                print(OutputStream.nullOutputStream(), OutputStream.nullOutputStream());
            }
            throw new Ended();
        });
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split("\t", -1);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            endedWith = null;
            print(out, err);
            try (InputStream in = words[0].isEmpty() ? nothing : new FileInputStream(words[0])) {
                System.setIn(in);
                int code = run(words[1], Arrays.copyOfRange(words, 2, words.length));
                runHooks();
                answers.println((endedWith == null ? code : endedWith) + " " + out.size() + " " + err.size());
                out.writeTo(answers);
                err.writeTo(answers);
                answers.flush();
            }
        }
    }

    /** What they print belongs to the tool: a record that is refused is told of by a producer that is closed. */
    private static void runHooks() {
        try {
            for (Thread hook : HOOKS) hook.start();
            for (Thread hook : HOOKS) hook.join(HOOK_MS);
        } catch (InterruptedException none) {
            throw new IllegalStateException(none);
        }
        HOOKS.clear();
    }

    private static void print(OutputStream out, OutputStream err) {
        System.out.flush();
        System.err.flush();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
    }

    private static int run(String tool, String[] args) throws Exception {
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) args);
            return 0;
        } catch (InvocationTargetException failed) {
            if (!(failed.getCause() instanceof Ended)) failed.getCause().printStackTrace();
            return 1;
        }
    }
}
