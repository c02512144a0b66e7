import CloudUnderTest
import Foundation
import Testing

/// The options of `welkin serve` for the memory of requests and answers.
@Suite(.timeLimit(.minutes(20))) struct MemoryOptionsTests {
    @Test func `limits that do not hold the largest bodies and answers are refused`() throws {
        for option in ["--answers-bytes-max", "--bodies-bytes-max"] {
            let failure = #expect(throws: ChildFailure.self) { try CloudProcess(arguments: [option, "16777215"]) }
            #expect(failure?.reason.contains("\(option) is 16777216 (16 MiB) or more") == true)
        }
    }

    @Test func `bodies of strangers hold an eighth of the limit that was given`() throws {
        let cloud = try CloudProcess(arguments: ["--bodies-bytes-max", "16777216", "--answers-bytes-max", "16777216"])
        defer { cloud.end() }
        let user = try cloud.signIn(container: "iCloud.com.example.memory", profile: "ada")
        // 2 MiB for strangers: of 60 bodies of 60 kB a third does not fit.
        let strangers = try RawExchange(port: cloud.port, connections: 60)
        let head = "POST \(user.devicePath("sessions/create")) HTTP/1.1\r\nHost: a\r\nContent-Length: 60001\r\n\r\n"
        let request = RawRequest(bytes: Array(head.utf8) + [UInt8](repeating: 0x20, count: 60_000))
        for connection in 0..<strangers.connectionCount { strangers.send(request, on: connection) }
        var refusals = 0
        while refusals < 10, let event = strangers.next(until: Moment.now.advanced(bySeconds: 25)) {
            if event.outcome == .answered(status: 503) { refusals += 1 }
        }
        #expect(refusals == 10)
        #expect(try RawExchange(port: cloud.port, connections: 1).ask(.get("/health")).status == 200)
    }

    @Test func `connections that wait for a request keep nothing of their last one`() throws {
        let cloud = try CloudProcess()
        defer { cloud.end() }
        let user = try cloud.signIn(container: "iCloud.com.example.memory", profile: "ada")
        let bodyBytes = 200_000
        let request = user.post("records/lookup", #"{"records":[]}"# + String(repeating: " ", count: bodyBytes))
        let exchange = try RawExchange(port: cloud.port, connections: 200)
        func ask(on connections: Range<Int>) {
            for connection in connections {
                exchange.send(request, on: connection)
                let event = exchange.next(until: Moment.now.advanced(bySeconds: 60))
                #expect(event?.connection == connection && event?.outcome == .answered(status: 200))
            }
        }
        ask(on: 0..<20)
        let before = cloud.residentBytes
        ask(on: 20..<200)
        // What was read last and the frames of a task are less than a body; a body would come on top of them.
        #expect(cloud.residentBytes - before < 180 * bodyBytes)
    }
}
