import CloudKitModel
import CloudKitServer
import Foundation

/// A device that waits for notifications, which may be one that only listens.
struct Listener {
    let name: String
    let person: Int
    let path: String
    var position: String
}

/// The feed of a user's database from the position of the last check.
struct Watch: Hashable {
    var person: Int
    var scope: DatabaseScope
}

/// The writers of each zone since the last check of notifications.
final class Writers {
    private var byOwner: [UserID: Set<String>] = [:]
    var isEmpty: Bool { byOwner.isEmpty }

    /// The operator's changes, which have no device.
    func addOperator(in owner: UserID) { byOwner[owner, default: []].insert("the operator") }

    func add(_ caller: Caller, in owner: UserID) {
        guard let user = caller.user, let device = caller.deviceID else { return }
        byOwner[owner.isCaller ? user : owner, default: []].insert(device)
    }

    /// Accepting changes the owner's zone and the participant's database.
    func add(_ caller: Caller, in owners: [UserID]) {
        for owner in owners { add(caller, in: owner) }
    }

    /// The writers in a user's own zones.
    func own(_ user: UserID) -> Set<String> { byOwner[user] ?? [] }

    func forget() { byOwner = [:] }
}

extension DatabaseScope {
    /// The name of the subscription to the database.
    var subscription: String { "all of \(word)" }
}

// MARK: Subscribing

extension Simulation {
    /// Subscribes a user to both databases; all of their devices listen, and one that only listens.
    func subscribe(_ person: Int) async throws {
        let user = people.users[person]
        for scope in [DatabaseScope.private, .shared] {
            let subscription = Subscription(id: scope.subscription, interest: .database(recordType: nil))
            let outcome = try await ModifySubscriptions(world.cloud).run(
                [.create(subscription)], in: world.address(scope), by: Caller(user: user))[0]
            if case .failed(_, let failure) = outcome { throw failure }
        }
        for name in devices.filter({ $0.person == person }).map(\.name) + [Self.watcher(person)] {
            let registration = try await PushTokens(world.cloud).create(
                clientID: name, service: "development", in: SimulatedCloud.container, .development,
                by: Caller(user: user, deviceID: name, surface: .native))
            guard let path = registration.longPollPath else { throw Violation("\(name) cannot listen") }
            listeners.append(Listener(name: name, person: person, path: path, position: registration.position))
        }
        for scope in [DatabaseScope.private, .shared] {
            _ = try await hasChanges(Watch(person: person, scope: scope))
        }
    }

    private static func watcher(_ person: Int) -> String { "\(SimulatedUsers.names[person])-listens" }
}

// MARK: Listening

extension Simulation {
    /// Compares the notifications of every device since the last check with the feeds: each change is reported to all devices of
    /// the user except the one that made it, and nothing else is reported.
    func listen() async throws {
        while try await RunOutbox(world.cloud).run() {}
        var changes: [Watch: Bool] = [:]
        for person in Set(listeners.map(\.person)).sorted() {
            for scope in [DatabaseScope.private, .shared] {
                let watch = Watch(person: person, scope: scope)
                changes[watch] = try await hasChanges(watch)
            }
        }
        for position in listeners.indices {
            let notified = try await notifiedSubscriptions(position)
            let listener = listeners[position]
            for scope in [DatabaseScope.private, .shared] {
                guard let hasChanges = changes[Watch(person: listener.person, scope: scope)] else { continue }
                try check(
                    isNotified: notified.contains(scope.subscription), hasChanges: hasChanges, listener, scope)
            }
        }
        writers.forget()
    }

    private func check(isNotified: Bool, hasChanges: Bool, _ listener: Listener, _ scope: DatabaseScope) throws {
        let what = "of the \(scope.word) database"
        if !hasChanges {
            return try check(!isNotified, "\(listener.name) was notified of \(what), where nothing has changed")
        }
        let own = writers.own(people.users[listener.person])
        let relevant =
            scope == .private
            ? own
            : people.users.filter { $0 != people.users[listener.person] }.reduce(into: Set()) {
                $0.formUnion(writers.own($1))
            }
        if relevant == [listener.name] {
            try check(!isNotified, "\(listener.name) was notified of \(what), which nobody but itself has changed")
        } else if !relevant.contains(listener.name) {
            try check(isNotified, "\(listener.name) was not notified of \(what), which \(relevant.sorted()) changed")
        }
    }

    /// Reads the feeds without checks.
    func forgetNews() async throws {
        for watch in watched.keys.sorted(by: { ($0.person, $0.scope.word) < ($1.person, $1.scope.word) }) {
            _ = try await hasChanges(watch)
        }
    }

    /// Reads all notifications without checks: compacted feeds name zones again, without notifications.
    func hearOnly() async throws {
        while try await RunOutbox(world.cloud).run() {}
        try await forgetNews()
        for position in listeners.indices { _ = try await notifiedSubscriptions(position) }
        writers.forget()
    }

    /// Returns whether a feed has new changes; nil if it has to be read again from the beginning.
    private func hasChanges(_ watch: Watch) async throws -> Bool? {
        let caller = Caller(
            user: people.users[watch.person], deviceID: Self.watcher(watch.person), surface: .native)
        var hasEvents = false
        while true {
            let token = watched[watch]
            do {
                let page = try await cloud.databaseChanges(
                    DatabaseChangesRequest(syncToken: token), in: world.address(watch.scope), by: caller)
                watched[watch] = page.syncToken
                if !page.events.isEmpty { hasEvents = true }
                if !page.moreComing { return token == nil ? nil : hasEvents }
            } catch let failure as RequestFailure where failure.code == .changeTokenExpired && token != nil {
                watched[watch] = nil
                _ = try await hasChanges(watch)
                return nil
            }
        }
    }

    /// Returns the subscriptions that a device was notified of. A lost answer is repeated.
    private func notifiedSubscriptions(_ position: Int) async throws -> Set<String> {
        let first = try await next(position)
        guard !first.payloads.isEmpty, roll(5) == 0 else {
            listeners[position].position = first.position
            return Set(first.payloads.map(Self.subscription))
        }
        let second = try await next(position)
        try check(
            second.payloads.starts(with: first.payloads),
            "\(listeners[position].name) did not get a lost notification again"
        )
        listeners[position].position = second.position
        return Set(second.payloads.map(Self.subscription))
    }

    private func next(_ position: Int) async throws -> LongPollService.Delivery {
        let courier = LongPollService(cloud: world.cloud, hold: .zero)
        let listener = listeners[position]
        let delivery = try await courier.next(listener.path, confirmed: listener.position, max: 100)
        let notified = delivery.payloads.map(Self.subscription)
        trail.answer("\(listener.name) was notified of \(notified)")
        return delivery
    }

    private static func subscription(_ payload: [UInt8]) -> String {
        let root = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        let body = root?["ck"] as? [String: Any]
        let database = body?["met"] as? [String: Any]
        return database?["sid"] as? String ?? "something else"
    }
}
