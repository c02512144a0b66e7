import CloudKitModel
import CloudKitServer
import Foundation

/// A device that waits for notifications: one that takes part, or one that only listens.
struct Listener {
    let name: String
    let person: Int
    let path: String
    var position: String
}

/// What the feed of somebody's database has to tell since it was last asked.
struct Watch: Hashable {
    var person: Int
    var scope: DatabaseScope
}

/// Who wrote in which zone since devices were last asked what they had been told.
final class Writers {
    private var byOwner: [UserID: Set<String>] = [:]
    var isEmpty: Bool { byOwner.isEmpty }

    /// What the operator does, no device did.
    func addOperator(in owner: UserID) { byOwner[owner, default: []].insert("the operator") }

    func add(_ caller: Caller, in owner: UserID) {
        guard let user = caller.user, let device = caller.deviceID else { return }
        byOwner[owner.isCaller ? user : owner, default: []].insert(device)
    }

    /// Accepting changes the zone of whoever shares, and one's own database.
    func add(_ caller: Caller, in owners: [UserID]) {
        for owner in owners { add(caller, in: owner) }
    }

    /// Those who wrote in somebody's own zones.
    func own(_ user: UserID) -> Set<String> { byOwner[user] ?? [] }

    func forget() { byOwner = [:] }
}

extension DatabaseScope {
    /// The name of the subscription to everything in it.
    var subscription: String { "all of \(word)" }
}

// MARK: Subscribing

extension Simulation {
    /// Lets somebody subscribe to both databases, and all of their devices listen, with one that does nothing else.
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
            guard let path = registration.courierPath else { throw Violation("\(name) cannot listen") }
            listeners.append(Listener(name: name, person: person, path: path, position: registration.position))
        }
        for scope in [DatabaseScope.private, .shared] {
            _ = try await hasNews(Watch(person: person, scope: scope))
        }
    }

    private static func watcher(_ person: Int) -> String { "\(People.names[person])-listens" }
}

// MARK: Listening

extension Simulation {
    /// Asks every device what it was told since it was last asked, and compares that with the feeds: all that has changed for
    /// somebody is told to each of their devices but the one that did it, and nothing else is.
    func listen() async throws {
        while try await RunOutbox(world.cloud).run() {}
        var news: [Watch: Bool] = [:]
        for person in Set(listeners.map(\.person)).sorted() {
            for scope in [DatabaseScope.private, .shared] {
                let watch = Watch(person: person, scope: scope)
                news[watch] = try await hasNews(watch)
            }
        }
        for position in listeners.indices {
            let told = try await told(position)
            let listener = listeners[position]
            for scope in [DatabaseScope.private, .shared] {
                guard let hasNews = news[Watch(person: listener.person, scope: scope)] else { continue }
                try check(
                    told.contains(scope.subscription), hasNews, listener, scope)
            }
        }
        writers.forget()
    }

    private func check(_ isTold: Bool, _ hasNews: Bool, _ listener: Listener, _ scope: DatabaseScope) throws {
        let what = "of the \(scope.word) database"
        if !hasNews { return try check(!isTold, "\(listener.name) was told \(what), where nothing has changed") }
        let own = writers.own(people.users[listener.person])
        let relevant =
            scope == .private
            ? own
            : people.users.filter { $0 != people.users[listener.person] }.reduce(into: Set()) {
                $0.formUnion(writers.own($1))
            }
        if relevant == [listener.name] {
            try check(!isTold, "\(listener.name) was told \(what), which nobody but itself has changed")
        } else if !relevant.contains(listener.name) {
            try check(isTold, "\(listener.name) was not told \(what), which \(relevant.sorted()) changed")
        }
    }

    /// Reads what feeds have to tell, and makes nothing of it.
    func forgetNews() async throws {
        for watch in watched.keys.sorted(by: { ($0.person, $0.scope.word) < ($1.person, $1.scope.word) }) {
            _ = try await hasNews(watch)
        }
    }

    /// Lets everybody hear what there is, and compares nothing: feeds that forget things name zones once more, of which nobody is told.
    func hearOnly() async throws {
        while try await RunOutbox(world.cloud).run() {}
        try await forgetNews()
        for position in listeners.indices { _ = try await told(position) }
        writers.forget()
    }

    /// Whether a feed says more than when it was last asked; nil: it has to begin anew.
    private func hasNews(_ watch: Watch) async throws -> Bool? {
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
                _ = try await hasNews(watch)
                return nil
            }
        }
    }

    /// The subscriptions of which a device was told. An answer that is lost comes again.
    private func told(_ position: Int) async throws -> Set<String> {
        let first = try await next(position)
        guard !first.payloads.isEmpty, roll(5) == 0 else {
            listeners[position].position = first.position
            return Set(first.payloads.map(Self.subscription))
        }
        let second = try await next(position)
        try check(
            second.payloads.starts(with: first.payloads), "\(listeners[position].name) was not told again what was lost"
        )
        listeners[position].position = second.position
        return Set(second.payloads.map(Self.subscription))
    }

    private func next(_ position: Int) async throws -> LongPollService.Delivery {
        let courier = LongPollService(cloud: world.cloud, hold: .zero)
        let listener = listeners[position]
        let delivery = try await courier.next(listener.path, confirmed: listener.position, max: 100)
        let told = delivery.payloads.map(Self.subscription)
        trail.answer("\(listener.name) was told \(told)")
        return delivery
    }

    private static func subscription(_ payload: [UInt8]) -> String {
        let root = try? JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any]
        let body = root?["ck"] as? [String: Any]
        let database = body?["met"] as? [String: Any]
        return database?["sid"] as? String ?? "something else"
    }
}
