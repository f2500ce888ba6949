#!/usr/bin/env bash
#
# tools/kafka.sh COMMAND...: runs COMMAND with KAFKA_BOOTSTRAP set to a real broker: Apache Kafka, one
# node without ZooKeeper, on free ports of loopback, in a temporary folder. As in
#
#     tools/kafka.sh ./dev test scenario -k real_broker
#
# Its jars come from Maven Central into build/kafka (once, 44 MB). Needs Java 17 and Maven.
set -euo pipefail
version=4.3.1
jars=$(dirname "$(readlink -f "$0")")/../build/kafka/$version

fetch_jars() {
    mkdir -p "$jars"
    cat >"$jars/pom.xml" <<XML
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>broker</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
XML
    mvn -q -B -f "$jars/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars"
    touch "$jars/complete"
}

two_free_ports() {
    python3 -c 'import socket
two = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in two))'
}

[ -e "$jars/complete" ] || fetch_jars
folder=$(mktemp -d)
broker=
trap 'kill $broker 2>/dev/null && wait $broker || true; rm -rf "$folder"' EXIT
read -r port controller < <(two_free_ports)
cat >"$folder/broker.properties" <<TEXT
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:$controller
log.dirs=$folder/logs
auto.create.topics.enable=true
group.initial.rebalance.delay.ms=0
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
TEXT
java -cp "$jars/*" kafka.tools.StorageTool format --standalone -t "$(python3 -c '
import base64, uuid
print(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))')" -c "$folder/broker.properties" >"$folder/log" 2>&1 ||
    { cat "$folder/log" >&2 && exit 1; }
java -Xmx512m -cp "$jars/*" kafka.Kafka "$folder/broker.properties" >>"$folder/log" 2>&1 &
broker=$!
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 $broker 2>/dev/null || { cat "$folder/log" >&2 && exit 1; }
    sleep 0.2
done
KAFKA_BOOTSTRAP=127.0.0.1:$port "$@"
