import ArgumentParser

/// The options of a query.
struct QueryOptions: ParsableArguments {
    @Option(help: "The type of the records.") var recordType: String?
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Filters that all have to hold, such as \"plays >= 3\" \"title == stringType:2001\".", valueName: "filters")
    )
    var filters: [String] = []

    func validate() throws {
        guard recordType != nil else {
            throw ValidationError("Missing expected argument '--record-type <record-type>'")
        }
        for filter in filters { _ = try FilterTerm(filter) }
    }

    /// Returns the query as web services take it.
    func query() throws -> [String: JSONTree] {
        [
            "recordType": .text(recordType ?? ""),
            "filterBy": .list(try filters.map { try FilterTerm($0).wire }),
        ]
    }
}

/// Queries records.
struct QueryRecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query-records", abstract: "Query the database for records with an optional set of filters.",
        discussion: """
            Prints {"records": […]}, with "continuationToken" where there are more. Without --filters the record type needs the index QUERYABLE \
            on "___recordID". A filter is FIELD OPERATOR VALUE; the value's type is guessed (number, date, LATITUDE,LONGITUDE, else string) or \
            written before it, as stringType:2001. Operators: == != < <= > >= NEAR BEGINS_WITH IN NOT_IN CONTAINS_ALL_TOKENS \
            CONTAINS_ANY_TOKENS LIST_CONTAINS LIST_CONTAINS_ANY LIST_NOT_CONTAINS_ANY.
            """)

    @OptionGroup var options: RecordOptions
    @OptionGroup var queryOptions: QueryOptions
    @Option(parsing: .upToNextOption, help: "Sorts: \"FIELD ASC\" or \"FIELD DESC\".") var sortBy: [String] = []
    @Option(parsing: .upToNextOption, help: "The fields to return; all if omitted.") var requestedFields: [String] = []
    @Option(help: "The most records to return, 1 to 200.") var limit: Int = 200
    @Option(help: "The continuationToken of the answer before.") var continuationToken: String?

    func validate() throws {
        guard (1...RecordDatabase.itemsMax).contains(limit) else { throw ValidationError("--limit is 1 to 200.") }
        for sort in sortBy { _ = try SortTerm(sort) }
    }

    func run() async throws {
        var query = try queryOptions.query()
        query["sortBy"] = .list(try sortBy.map { try SortTerm($0).wire })
        var body: [String: JSONTree] = ["query": .object(query), "resultsLimit": .integer(Int64(limit))]
        if !requestedFields.isEmpty { body["desiredKeys"] = .list(requestedFields.map { .text($0) }) }
        if let continuationToken { body["continuationMarker"] = .text(continuationToken) }
        let answer = try await options.open().post("records/query", body)
        var printed: [String: JSONTree] = [
            "records": .list((answer["records"]?.list ?? []).map(RecordOutput.record))
        ]
        printed["continuationToken"] = answer["continuationMarker"]
        try ToolOutput.json(.object(printed))
    }
}

/// Deletes the records that a query finds.
struct DeleteRecordsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-records", abstract: "Delete records matching one or more filters from a given database.",
        discussion: "A dry run that counts the records, unless --dry-run false is given.")

    @OptionGroup var options: RecordOptions
    @OptionGroup var queryOptions: QueryOptions
    @Option(help: "Whether to count the records only.") var dryRun: Bool = true
    @Flag(name: .shortAndLong, help: "Do not ask.") var yes = false

    func run() async throws {
        let database = try options.open()
        let names = try await names(in: database)
        guard !dryRun else { return ToolOutput.result("Dry run. Found \(names.count) matching records to delete.") }
        guard !names.isEmpty else { return ToolOutput.result("Found no matching records to delete.") }
        if !yes { try Prompt.confirm("Delete \(names.count) records permanently?", orGive: "--yes") }
        var failures: [JSONTree] = []
        for start in stride(from: 0, to: names.count, by: RecordDatabase.itemsMax) {
            let operations = names[start..<min(names.count, start + RecordDatabase.itemsMax)].map { name in
                JSONTree.object([
                    "operationType": "forceDelete", "record": .object(["recordName": .text(name)]),
                ])
            }
            let answer = try await database.post(
                "records/modify", ["operations": .list(operations), "atomic": .flag(false)])
            failures += (answer["records"]?.list ?? []).filter { $0["serverErrorCode"] != nil }
        }
        ToolOutput.result("Deleted \(names.count - failures.count) records.")
        for failure in failures {
            ToolOutput.remark("\(failure["recordName"]?.text ?? "?"): \(CloudRefusal(item: failure))".onOneLine)
        }
        guard failures.isEmpty else { throw ExitCode(1) }
    }

    /// Returns the names of all records that the query finds.
    private func names(in database: RecordDatabase) async throws -> [String] {
        let query = JSONTree.object(try queryOptions.query())
        var names: [String] = []
        var marker: JSONTree?
        repeat {
            var body: [String: JSONTree] = [
                "query": query, "desiredKeys": .list([]), "resultsLimit": .integer(Int64(RecordDatabase.itemsMax)),
            ]
            body["continuationMarker"] = marker
            let answer = try await database.post("records/query", body)
            names += (answer["records"]?.list ?? []).compactMap { $0["recordName"]?.text }
            marker = answer["continuationMarker"]
        } while marker != nil
        return names
    }
}
