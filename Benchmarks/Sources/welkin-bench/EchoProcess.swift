import CloudUnderTest
import Foundation

/// A process of the bare web framework, the baseline of lookups.
final class EchoProcess {
    var port: UInt16 { held.number }
    private let held: HeldPort
    private let process: ChildProcess
    private let output = NSTemporaryDirectory() + "/bare-echo-\(UUID().uuidString.prefix(8)).log"

    init() throws {
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("bare-echo").path
        held = try HeldPort()
        let port = held.number
        process = try ChildProcess([program, String(port)], variables: [:], output: output)
        for _ in 0..<1000 {
            if let exchange = try? RawExchange(port: port, connections: 1), (try? exchange.ask(Self.request)) != nil {
                return
            }
            usleep(10_000)
        }
        throw BenchError("bare-echo does not answer")
    }

    deinit {
        process.kill()
        try? FileManager.default.removeItem(atPath: output)
    }

    var processorSeconds: Double { process.processorSeconds }

    /// The same content as the record that is looked up.
    static let request = RawRequest.post(
        "/echo",
        body: Array(
            (#"{"recordName":"\#(Payload.name(1))","title":"benchmark record 1000000","count":4242424242,"#
                + #""date":1700000000123,"payload":"\#(Payload.base64)"}"#).utf8))
}
