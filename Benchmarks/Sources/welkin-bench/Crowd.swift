import CloudUnderTest
import Foundation

/// Users with devices that wait for notifications, each device on its own connection.
final class Crowd {
    /// A user who saves on one device and listens on others.
    struct Person {
        var user: SignedInUser
        /// The connections of the devices that are notified of the user's saves.
        var listeners: [Int] = []
    }

    private struct Device {
        var path: String
        var position: String
    }

    private(set) var people: [Person] = []
    private(set) var exchange: RawExchange
    private var devices: [Device] = []
    /// The number of connections for saving, the first ones; the others wait.
    private let savers: Int
    private static let native = ("X-Welkin-Client", "sdk/1")
    /// Options of a server that lets a crowd sign up, each from another address.
    static let serveOptions = ["--behind-proxy", "--sign-ups-max", "100000"]

    /// Creates users, signs in two devices of each, and creates push tokens.
    ///
    /// - Parameters:
    ///   - listeners: The number of devices of each user that are notified of the user's saves.
    ///   - idle: The number of devices of each user that share the saving device's session and are not notified.
    ///   - port: That of another node at which devices wait; nil for the one on which saves are made.
    init(
        on cloud: CloudProcess, people count: Int, listeners: Int, idle: Int, savers: Int,
        listeningAt port: UInt16? = nil
    ) throws {
        self.savers = savers
        let first = try cloud.signIn(container: Bench.container, profile: "crowd")
        let setup = try RawExchange(port: cloud.port, connections: 1)
        for number in 0..<count {
            let newcomer = Newcomer(number: number, app: first)
            _ = try Self.ask(setup, newcomer.signUp)
            func session(_ name: String) throws -> SignedInUser {
                try newcomer.user(in: try Self.ask(setup, newcomer.signIn(deviceName: name)))
            }
            var person = Person(user: try session("saves"))
            let other = try session("listens")
            _ = try Self.ask(setup, person.user.makeZone("Z"))
            _ = try Self.ask(
                setup,
                person.user.post(
                    "subscriptions/modify",
                    #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"D","subscriptionType":"database"}}]}"#
                ))
            for index in 0..<(listeners + idle) {
                if index < listeners { person.listeners.append(savers + devices.count) }
                let user = index < listeners ? other : person.user
                let answer = try Self.ask(
                    setup,
                    .post(
                        user.devicePath("tokens/create", isUser: true), headers: [Self.native],
                        body: Array(#"{"apnsEnvironment":"development","clientId":"device-\#(index)"}"#.utf8)))
                let token = try JSONDecoder().decode(Token.self, from: Data(answer.body))
                guard let path = URL(string: token.webcourierURL)?.path else { throw BenchError("no courier URL") }
                devices.append(Device(path: path, position: token.position))
            }
            people.append(person)
        }
        exchange = try RawExchange(
            ports: Array(repeating: cloud.port, count: savers)
                + Array(repeating: port ?? cloud.port, count: devices.count), connections: savers + devices.count)
    }

    var deviceCount: Int { devices.count }
    var saverCount: Int { savers }

    private struct Token: Decodable {
        var webcourierURL: String
        var position: String
    }

    private static func ask(_ exchange: RawExchange, _ request: RawRequest) throws -> RawResponse {
        let answer = try exchange.ask(request, timeout: 60)
        guard answer.status == 200, !answer.text.contains("serverErrorCode") else {
            throw BenchError("HTTP \(answer.status): \(answer.text.prefix(500))")
        }
        return answer
    }

    // MARK: Waiting

    /// Starts the long poll of every device.
    func listen() {
        for index in devices.indices { ask(savers + index) }
    }

    /// Connects every device again, with its long poll still to be started.
    func reconnect(port: UInt16) throws { try exchange.reconnect(port: port) }

    private func ask(_ connection: Int) {
        let device = devices[connection - savers]
        exchange.send(.get("\(device.path)?confirmed=\(device.position)", headers: [Self.native]), on: connection)
    }

    enum Event {
        /// A save was answered on a connection.
        case saved(Int)
        /// A device received notifications.
        case notified(Int)
        /// A device's long poll ended without notifications; it polls again.
        case nothing
    }

    /// Returns the next event, or nil at the deadline. Devices poll again automatically.
    func next(until deadline: Moment) throws -> Event? {
        guard let event = exchange.next(until: deadline) else { return nil }
        guard event.outcome == .answered(status: 200) else {
            throw BenchError(
                "a request failed: \(event.outcome) "
                    + String(decoding: exchange.body(of: event.connection).prefix(300), as: UTF8.self))
        }
        if event.connection < savers { return .saved(event.connection) }
        let body = String(decoding: exchange.body(of: event.connection), as: UTF8.self)
        guard let mark = body.range(of: #""position":""#), let end = body[mark.upperBound...].firstIndex(of: "\"")
        else {
            throw BenchError("an answer without a position: \(body.prefix(300))")
        }
        devices[event.connection - savers].position = String(body[mark.upperBound..<end])
        ask(event.connection)
        return body.hasPrefix(#"{"notifications":[]"#) ? .nothing : .notified(event.connection)
    }

    /// Handles events for a while.
    func idle(seconds: Double) throws {
        let end = Moment.now.advanced(bySeconds: seconds)
        while try next(until: end) != nil {}
    }
}
