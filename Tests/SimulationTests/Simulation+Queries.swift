import CloudKitModel
import CloudKitServer

/// A query with its expected result.
struct Question {
    var name: String
    var query: Query
    /// Returns whether a record matches.
    var isMet: (Content) -> Bool
    var isAscending = true

    /// Returns the names of the matching records of `visible`, in the order of the query.
    func answer(among visible: [String: Content]) -> [String] {
        let found = visible.filter { $0.value.number != nil && isMet($0.value) }
        let names = found.keys.sorted { (found[$0]?.number ?? 0) < (found[$1]?.number ?? 0) }
        return isAscending ? names : names.reversed()
    }
}

/// An unfinished query of a device.
struct Cursor {
    var place: Place
    var question: Question
    var marker: String
}

extension Content {
    /// A value that is unique for each edit.
    var number: Int? { fields["n"].flatMap { Int($0) } }
}

// MARK: Questions

extension Simulation {
    private static let byNumber = QuerySort(key: .field("n"))

    /// One query of each kind.
    func questions() -> [Question] {
        let bound = roll(counter + 1)
        let numbers = (0..<8).map { _ in roll(counter + 1) }
        let word = "text \(roll(10))"
        func note(_ filters: QueryFilter..., ascending: Bool = true) -> Query {
            Query(recordType: "Note", filters: filters, sorts: [QuerySort(key: .field("n"), ascending: ascending)])
        }
        return [
            Question(
                name: "all",
                query: note(QueryFilter(key: .field("n"), comparator: .greaterThanOrEquals, value: .int64(0))),
                isMet: { _ in true }),
            Question(
                name: "n > \(bound)",
                query: note(
                    QueryFilter(key: .field("n"), comparator: .greaterThan, value: .int64(Int64(bound))),
                    ascending: false),
                isMet: { ($0.number ?? 0) > bound }, isAscending: false),
            Question(
                name: "n in \(numbers)",
                query: note(
                    QueryFilter(
                        key: .field("n"), comparator: .in, value: .list(.int64, numbers.map { .int64(Int64($0)) }))),
                isMet: { numbers.contains($0.number ?? -1) }),
            Question(
                name: "m begins with \(word)",
                query: note(QueryFilter(key: .field("m"), comparator: .beginsWith, value: .string(word))),
                isMet: { $0.fields["m"]?.dropFirst().hasPrefix(word) ?? false }),
        ]
    }

    private func page(
        _ question: Question, of place: Place?, from marker: String?, limit: Int, for device: Device
    ) async throws -> Answer<QueryPage> {
        let database = place.map { address($0, for: device) } ?? world.address(.private)
        return try await Answer {
            try await cloud.queryRecords(
                QueryRecordsRequest(
                    query: question.query, zoneID: place.map { zoneID($0, for: device) }, zoneWide: place == nil,
                    resultsLimit: limit, continuationMarker: marker),
                in: database, by: device.caller)
        }
    }
}

// MARK: Asking while others write

extension Simulation {
    /// Reads the first page of a query, or continues an unfinished one.
    func query(on index: Int) async throws {
        let unfinished = devices.indices.filter { devices[$0].cursor != nil }
        let index = roll(2) == 0 ? pick(unfinished) ?? index : index
        let device = devices[index]
        var cursor = device.cursor
        if cursor == nil {
            guard let question = pick(questions()) else { return }
            cursor = Cursor(place: someLocation(for: device), question: question, marker: "")
        }
        guard let cursor else { return }
        let (place, question) = (cursor.place, cursor.question)
        let event = "\(device.name) asks \(place) for \(question.name)\(cursor.marker.isEmpty ? "" : ", the next page")"
        let answer = try await deliver(event) {
            let refusal = zoneRefusal(place, by: device.person)
            let answer = try await page(
                question, of: place, from: cursor.marker.isEmpty ? nil : cursor.marker, limit: 1, for: device)
            switch answer {
            case .refused(let failure):
                note("    \(failure.code)")
                let visible = model.visible(to: device.person, in: place)
                let mayBeUnknown = Self.isUnknown(failure) && question.answer(among: visible).isEmpty
                try check(
                    failure.code == refusal || mayBeUnknown,
                    "a query: \(failure.code) \(failure.reason), where the model says \(text(refusal))")
            case .done(let page):
                try check(refusal == nil, "a query was answered, where the model says \(text(refusal))")
                let visible = model.visible(to: device.person, in: place)
                for record in page.records {
                    let content = visible[record.id.recordName]
                    try compare([record.id.recordName: plain(record)], with: content, "\(device.name) is shown")
                    try check(
                        content.map(question.isMet) ?? false,
                        "\(record.id.recordName) is no answer to \(question.name) in \(place)")
                }
            }
            return answer
        }
        switch answer {
        case .done(let page)?:
            devices[index].cursor = page.continuationMarker.map {
                Cursor(place: place, question: question, marker: $0)
            }
        case .refused?: devices[index].cursor = nil
        case nil: break
        }
    }

    /// Whether the record type or the field does not exist.
    private static func isUnknown(_ failure: RequestFailure) -> Bool {
        [.typeNotFound, .indexMissing].contains(failure.code)
    }

    private func compare(_ found: [String: Content], with expected: Content?, _ what: String) throws {
        for (name, content) in found {
            var expected = expected
            expected?.fields["secret"] = nil
            try check(
                content == expected,
                "\(what) \(name): \(content), the model: \(expected.map(\.description) ?? "nothing")")
        }
    }
}

// MARK: Final checks

extension Simulation {
    /// Checks the results and order of a query against the model, page by page.
    func checkQueries(of place: Place, for device: Device) async throws {
        guard let question = pick(questions()) else { return }
        let visible = model.visible(to: device.person, in: place)
        try await check(question, in: place, finds: question.answer(among: visible), for: device)
    }

    /// A query may ask all zones of the private database at once.
    func checkQueriesOfAllZones(for device: Device) async throws {
        guard let question = pick(questions()) else { return }
        var visible: [String: Content] = [:]
        for place in SimulatedUsers.zones where place.owner == device.person && model[place].state == .live {
            for (name, content) in model.visible(to: device.person, in: place) {
                visible["\(place.zone)/\(name)"] = content
            }
        }
        try await check(question, in: nil, finds: question.answer(among: visible), for: device)
    }

    private func check(_ question: Question, in place: Place?, finds expected: [String], for device: Device)
        async throws
    {
        var found: [String] = []
        var marker: String?
        repeat {
            switch try await page(question, of: place, from: marker, limit: 1 + roll(4), for: device) {
            case .refused(let failure):
                let what = "\(question.name): \(failure.code) \(failure.reason)"
                try check(expected.isEmpty && Self.isUnknown(failure), "\(device.name) asks for \(what)")
                return
            case .done(let page):
                found += page.records.map {
                    place == nil ? "\($0.id.zoneID.zoneName)/\($0.id.recordName)" : $0.id.recordName
                }
                marker = page.continuationMarker
            }
        } while marker != nil
        try check(
            found == expected,
            "\(device.name) asks \(place?.description ?? "all zones") for \(question.name) and finds \(found), "
                + "the model: \(expected)")
    }
}
