import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * What Kafka's own benchmarks do, without a consumer group and with finer clocks, on Kafka's client:
 *
 *   consume BOOTSTRAP TOPIC FROM TO SECONDS   reads offsets FROM to TO of partition 0 over and over
 *   latency BOOTSTRAP TOPIC COUNT BYTES       sends one record, waits until it can be read, sends the next
 *   paced BOOTSTRAP TOPIC COUNT BYTES RATE    sends RATE records a second to all partitions in turn, read meanwhile
 *
 * Prints one line of JSON. The first passes and records warm up the virtual machine and are not counted.
 */
public final class Client {
    private static final int LATENCY_WARM_UP = 2000;
    private static final int PACED_WARM_UP = 2000;
    private static final double WARM_UP_SHARE = 0.4;

    public static void main(String[] args) {
        if (args[0].equals("consume")) {
            consume(args[1], args[2], Long.parseLong(args[3]), Long.parseLong(args[4]), Double.parseDouble(args[5]));
        } else if (args[0].equals("latency")) {
            latency(args[1], args[2], Integer.parseInt(args[3]), Integer.parseInt(args[4]));
        } else {
            paced(args[1], args[2], Integer.parseInt(args[3]), Integer.parseInt(args[4]), Double.parseDouble(args[5]));
        }
    }

    private static void consume(String bootstrap, String topic, long from, long to, double seconds) {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, 1)) {
            consumer.assign(List.of(partition));
            passes(consumer, partition, from, to, seconds * WARM_UP_SHARE);
            long started = System.nanoTime();
            long[] counted = passes(consumer, partition, from, to, seconds);
            double took = (System.nanoTime() - started) / 1e9;
            System.out.printf("{\"records\":%d,\"bytes\":%d,\"seconds\":%.4f}%n", counted[0], counted[1], took);
        }
    }

    /** Whole passes until the time is over: records and bytes of values seen. */
    private static long[] passes(KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long from, long to,
            double seconds) {
        long until = System.nanoTime() + (long) (seconds * 1e9);
        long records = 0;
        long bytes = 0;
        do {
            consumer.seek(partition, from);
            long next = from;
            long silentSince = System.nanoTime();
            while (next < to) {
                ConsumerRecords<byte[], byte[]> batch = consumer.poll(Duration.ofMillis(500));
                for (ConsumerRecord<byte[], byte[]> record : batch) {
                    if (record.offset() != next) {
                        throw new IllegalStateException("expected offset " + next + ", read " + record.offset());
                    }
                    next++;
                    records++;
                    bytes += record.serializedValueSize();
                }
                if (!batch.isEmpty()) {
                    silentSince = System.nanoTime();
                } else if (System.nanoTime() - silentSince > 20_000_000_000L) {
                    throw new IllegalStateException("nothing came for 20 seconds at offset " + next);
                }
            }
        } while (System.nanoTime() < until);
        return new long[] {records, bytes};
    }

    private static void latency(String bootstrap, String topic, int count, int size) {
        TopicPartition partition = new TopicPartition(topic, 0);
        byte[] value = new byte[size];
        long[] nanos = new long[count];
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, 500);
                KafkaProducer<byte[], byte[]> producer = producer(bootstrap)) {
            producer.partitionsFor(topic);
            consumer.assign(List.of(partition));
            consumer.seekToEnd(List.of(partition));
            consumer.position(partition);
            for (int i = -LATENCY_WARM_UP; i < count; i++) {
                long started = System.nanoTime();
                producer.send(new ProducerRecord<>(topic, 0, null, value));
                int seen = 0;
                while (seen == 0) {
                    seen = consumer.poll(Duration.ofSeconds(20)).count();
                    if (System.nanoTime() - started > 20_000_000_000L) {
                        throw new IllegalStateException("record " + i + " did not come within 20 seconds");
                    }
                }
                if (seen > 1) {
                    throw new IllegalStateException("read " + seen + " records where one was sent");
                }
                if (i >= 0) {
                    nanos[i] = System.nanoTime() - started;
                }
            }
        }
        print(nanos);
    }

    /** From the moment at which a record is given to the producer until the consumer has it; both clocks are one. */
    private static void paced(String bootstrap, String topic, int count, int size, double perSecond) {
        long[] nanos = new long[count];
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, 500);
                KafkaProducer<byte[], byte[]> producer = producer(bootstrap)) {
            List<TopicPartition> partitions = new ArrayList<>();
            producer.partitionsFor(topic).forEach(one -> partitions.add(new TopicPartition(topic, one.partition())));
            consumer.assign(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            Thread sender = new Thread(() -> sendPaced(producer, partitions, count, size, perSecond));
            sender.start();
            long silentSince = System.nanoTime();
            for (int seen = -PACED_WARM_UP; seen < count; ) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    silentSince = System.nanoTime();
                    ByteBuffer value = ByteBuffer.wrap(record.value());
                    int index = value.getInt();
                    if (index >= 0) {
                        if (nanos[index] != 0) {
                            throw new IllegalStateException("record " + index + " came twice");
                        }
                        nanos[index] = silentSince - value.getLong();
                    }
                    seen++;
                }
                if (System.nanoTime() - silentSince > 20_000_000_000L) {
                    throw new IllegalStateException("nothing came for 20 seconds");
                }
            }
        }
        print(nanos);
    }

    private static void sendPaced(KafkaProducer<byte[], byte[]> producer, List<TopicPartition> partitions, int count,
            int size, double perSecond) {
        long started = System.nanoTime();
        for (int i = -PACED_WARM_UP; i < count; i++) {
            long at = started + (long) ((i + PACED_WARM_UP) * 1e9 / perSecond);
            for (long left = at - System.nanoTime(); left > 0; left = at - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            TopicPartition to = partitions.get(Math.floorMod(i, partitions.size()));
            byte[] value = ByteBuffer.allocate(size).putInt(i).putLong(System.nanoTime()).array();
            producer.send(new ProducerRecord<>(to.topic(), to.partition(), null, value));
        }
    }

    private static void print(long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf("{\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f,\"p999\":%.3f,\"max\":%.3f}%n",
                at(nanos, 0.5), at(nanos, 0.95), at(nanos, 0.99), at(nanos, 0.999), nanos[nanos.length - 1] / 1e6);
    }

    private static double at(long[] sorted, double share) {
        return sorted[(int) Math.min(sorted.length - 1, Math.floor(sorted.length * share))] / 1e6;
    }

    /** A pass that reaches the end must not sit out a long poll before the next one begins. */
    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, int waitMs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "none");
        settings.put("fetch.max.wait.ms", Integer.toString(waitMs));
        settings.put("fetch.min.bytes", "1");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        return new KafkaConsumer<>(settings);
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("acks", "all");
        settings.put("linger.ms", "0");
        settings.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        return new KafkaProducer<>(settings);
    }
}
