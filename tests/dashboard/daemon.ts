// A real daemon on a store of its own, and receivers for its callbacks.
import { spawn, type ChildProcess } from "node:child_process";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env["POSTBACKD_BIN"] ?? "../build/postbackd";
export const operatorKey = "operator-key-of-the-dashboard-tests";

export async function until<T>(
    what: string,
    check: () => Promise<T | null | undefined | false>,
    timeoutMs = 20_000,
): Promise<T> {
    const end = Date.now() + timeoutMs;
    for (;;) {
        const found = await check().catch(() => null);
        if (found) return found;
        if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 30));
    }
}

export interface Answer {
    status: number;
    json: any;
}

export class Daemon {
    port = 0;
    private process: ChildProcess | null = null;

    private constructor(
        readonly directory: string,
        private readonly options: string[],
    ) {}

    static async start(...options: string[]): Promise<Daemon> {
        const daemon = new Daemon(await mkdtemp(join(tmpdir(), "postbackd-dashboard-")), options);
        await daemon.run();
        return daemon;
    }

    get url(): string {
        return `http://127.0.0.1:${this.port}`;
    }

    /** Starts it, on the same store and port where it ran before. */
    async run(): Promise<void> {
        const line = ["serve", "--listen", `127.0.0.1:${this.port}`, "--log-format", "json"];
        line.push("--store", `sqlite:${join(this.directory, "store")}`);
        line.push("--retry-schedule", "1s,2s,600s", "--allow-destination", "127.0.0.0/8");
        line.push("--reads-per-minute", "1000000", ...this.options);
        const env = { PATH: process.env["PATH"], POSTBACKD_OPERATOR_KEY: operatorKey };
        const child = spawn(binary, line, { env, stdio: ["ignore", "ignore", "pipe"] });
        this.process = child;
        let log = "";
        child.stderr!.on("data", (data: Buffer) => (log += data.toString()));
        const listening = await until("the daemon listens", async () => {
            if (child.exitCode !== null) throw new Error(`the daemon ended: ${log}`);
            return /"event":"listening".*?"address":"[^"]*:(\d+)"/.exec(log);
        });
        this.port = Number(listening[1]);
        this.log = () => log;
        await until("the daemon is ready", async () => (await fetch(`${this.url}/readyz`)).ok);
    }

    log: () => string = () => "";

    private async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
        const child = this.process;
        if (!child || child.exitCode !== null || child.signalCode !== null) return;
        await new Promise<void>((resolve) => {
            child.once("exit", () => resolve());
            child.kill(signal);
        });
    }

    async kill(): Promise<void> {
        await this.end("SIGKILL");
    }

    /** Ends it and removes its store. */
    async stop(): Promise<void> {
        await this.end("SIGTERM");
        await rm(this.directory, { recursive: true, force: true });
    }

    async ask(method: string, path: string, body?: unknown, key = operatorKey): Promise<Answer> {
        const answer = await fetch(this.url + path, {
            method,
            headers: { "X-Api-Key": key, "Content-Type": "application/json" },
            body:
                body === undefined
                    ? undefined
                    : typeof body === "string"
                      ? body
                      : JSON.stringify(body),
        });
        const text = await answer.text();
        return { status: answer.status, json: text ? JSON.parse(text) : null };
    }

    /** The same, for what must succeed. */
    async good(method: string, path: string, body?: unknown, key = operatorKey): Promise<any> {
        const { status, json } = await this.ask(method, path, body, key);
        if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
        return json;
    }

    /** `postbackd user ...` and the like, on this daemon's store. */
    async command(...line: string[]): Promise<string> {
        const child = spawn(binary, line, { stdio: ["ignore", "pipe", "inherit"] });
        let out = "";
        child.stdout.on("data", (data: Buffer) => (out += data.toString()));
        await new Promise((resolve) => child.once("exit", resolve));
        return out;
    }

    async text(name: string): Promise<string> {
        return readFile(join(this.directory, name), "utf8");
    }
}

export interface Received {
    path: string;
    headers: IncomingHttpHeaders;
    body: string;
}

/** A partner's receiver: answers what it is told to, and remembers what came. */
export class Receiver {
    readonly received: Received[] = [];
    status = 200;
    answer = "ok";
    private constructor(private readonly server: Server) {}

    static async start(): Promise<Receiver> {
        const server = createServer();
        const receiver = new Receiver(server);
        server.on("request", (request, response) => {
            let body = "";
            request.on("data", (data: Buffer) => (body += data.toString()));
            request.on("end", () => {
                receiver.received.push({ path: request.url ?? "", headers: request.headers, body });
                response.statusCode = receiver.status;
                response.end(receiver.answer);
            });
        });
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        return receiver;
    }

    get url(): string {
        return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    }

    async stop(): Promise<void> {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }
}
