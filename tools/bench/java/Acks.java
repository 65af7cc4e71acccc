import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;

/**
 * Kafka's producer with its defaults, its clock in sight: BOOTSTRAP TOPIC EVERY_MS [NAME=VALUE...] sends a record every
 * so often to partition 0. Prints a line for each: when it was sent, when it was answered (nanoseconds of the monotonic
 * clock), and the error code, 0 for none. Ends on SIGTERM, without waiting for what is under way.
 */
public final class Acks {
    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        for (int i = 3; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0)));
        long everyNs = (long) (Double.parseDouble(args[2]) * 1e6);
        byte[] value = new byte[100];
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings);
        long due = System.nanoTime();
        while (true) {
            long asked = System.nanoTime();
            producer.send(new ProducerRecord<>(args[1], 0, null, value), (metadata, failed) -> tell(asked, failed));
            due += everyNs;
            long left = due - System.nanoTime();
            if (left > 0) {
                LockSupport.parkNanos(left);
            }
        }
    }

    private static synchronized void tell(long asked, Exception failed) {
        int code = failed == null ? 0 : failed instanceof ApiException ? Errors.forException(failed).code() : -1;
        System.out.println(asked + " " + System.nanoTime() + " " + code);
        System.out.flush();
    }
}
