import CloudKitHTTP
import CloudKitModel
import CloudKitServer

/// The order that a form of the faults page makes.
struct FaultForm {
    private let request: PageRequest

    init(_ request: PageRequest) { self.request = request }

    /// The kinds of faults with their words.
    static let kinds: [(value: String, text: String)] = Fault.Kind.allCases.map { kind in
        let text =
            switch kind {
            case .throttle: "throttle: too many requests"
            case .unavailable: "unavailable: the service is down"
            case .quota: "quota: the private database is full"
            case .managedAccountRestricted: "managedAccountRestricted: excluded by an administration"
            }
        return (kind.rawValue, text)
    }

    /// Returns the order of a form.
    ///
    /// - Throws: `FormProblem` for a field that is wrong.
    func order(_ form: String) throws -> FaultOrder {
        switch form {
        case "remove": return .removeFault(id: request.form["id"] ?? "")
        case "remove-all": return .removeAllFaults
        case "order": return try fault()
        case "expire-tokens": return .expireTokens(of: try requiredPerson(), zone: request.form["zone"]?.trimming)
        case "compact": return .compactZone(try requiredZone(), of: try requiredPerson())
        case "purge": return .purgeZone(try requiredZone(), of: try requiredPerson())
        case "reset-keys": return .resetKeys(ofZone: request.form["zone"]?.trimming, of: try requiredPerson())
        case "reset-keychain": return .resetKeychain(of: try requiredPerson())
        case "sign-out":
            guard let device = request.form["device"]?.trimming else {
                throw FormProblem("device", "name a device", remedy: "Give its id, or the first digits.")
            }
            return .signOut(device: device, of: try requiredPerson())
        default: throw RequestFailure(.badRequest, "the form is not one of this page")
        }
    }

    private func fault() throws -> FaultOrder {
        guard let kind = request.form["kind"].flatMap({ Fault.Kind(rawValue: $0) }) else {
            throw FormProblem("kind", "there is no such kind of fault")
        }
        var seconds: Double?
        if let text = request.form["seconds"]?.trimming {
            guard let number = Double(text), (0...31_536_000).contains(number) else {
                throw FormProblem("seconds", "seconds are a number from 0 to 31536000, a year")
            }
            seconds = number
        }
        var bytes: UInt64?
        if let text = request.form["bytes"]?.trimming {
            guard let number = UInt64(text) else { throw FormProblem("bytes", "bytes are a whole number, 0 or more") }
            bytes = number
        }
        if kind == .quota, bytes == nil { throw FormProblem("bytes", "a quota needs bytes") }
        if kind != .quota, bytes != nil { throw FormProblem("bytes", "bytes go with a quota only") }
        return .fault(
            kind, for: try PersonField.person(request, field: "person"), seconds: seconds, bytes: bytes,
            sendsRetryAfter: request.form.has("retry-after"))
    }

    private func requiredPerson() throws -> FaultOrder.Person {
        guard let person = try PersonField.person(request, field: "person") else {
            throw FormProblem("person", "name a person", remedy: PersonField.hint)
        }
        return person
    }

    private func requiredZone() throws -> String {
        guard let zone = request.form["zone"]?.trimming else { throw FormProblem("zone", "name a zone") }
        return zone
    }

    /// Returns the field that a refusal is about; nil for the form as a whole.
    static func field(of failure: RequestFailure, _ form: String) -> String? {
        switch failure.code {
        case .zoneNotFound, .zonePurged: "zone"
        case .itemNotFound where failure.reason.contains("device"): "device"
        case .itemNotFound where !form.hasPrefix("remove"): "person"
        default: nil
        }
    }

    /// Returns what to ask before an order is carried out that cannot be undone; nil for others.
    static func question(_ order: FaultOrder) -> (title: String, text: String, button: String)? {
        switch order {
        case .purgeZone(let zone, _):
            (
                "Purge \(zone)",
                "All records of the zone are deleted, in development. Its owner's apps are told that the user "
                    + "deleted it. It cannot be undone.", "Purge the zone"
            )
        case .resetKeys(let zone, _):
            (
                zone.map { "Lose the keys of \($0)" } ?? "Lose the keys of all zones",
                "Encrypted values of these zones become unreadable, in development. Apps have to delete the zones and save them "
                    + "again.", "Lose the keys"
            )
        case .resetKeychain:
            (
                "Remove the keychain",
                "Everything that the account has encrypted becomes permanently unreadable, in all containers, and its devices "
                    + "have to sign in again.", "Remove the keychain"
            )
        case .fault, .removeFault, .removeAllFaults, .expireTokens, .compactZone, .signOut: nil
        }
    }

    /// Returns the message about what was done.
    static func notice(_ order: FaultOrder, _ receipt: FaultOutcome) -> String {
        switch order {
        case .fault: "Fault \(receipt.fault?.id ?? "") is active."
        case .removeFault(let id): "Fault \(id) is removed."
        case .removeAllFaults: "\(receipt.removed ?? 0) faults are removed."
        case .expireTokens(_, let zone): "Change tokens of \(zone ?? "the database") are expired."
        case .compactZone(let zone, _): "\(receipt.forgotten ?? 0) deletions are removed from the history of \(zone)."
        case .purgeZone(let zone, _): "Zone \(zone) is purged."
        case .resetKeys: "The keys of \(receipt.zones ?? 0) zones count as lost."
        case .resetKeychain: "The keychain is removed; the devices of the account have to sign in again."
        case .signOut: "\(receipt.device?.name ?? "The device") is signed out."
        }
    }
}
