import CloudKitModel
import CloudKitSchema
import CloudKitWire
import JSONBytes

/// A query as the query builder's form describes it. It becomes the body of `records/query`, so that predicates and errors are those of the
/// API.
struct QueryForm {
    /// One condition.
    struct Filter {
        var field = ""
        var comparator = QueryFilter.Comparator.equals.rawValue
        var value = ""

        var isEmpty: Bool { field.isEmpty && value.isEmpty }
    }

    /// One key of the order.
    struct Sort {
        var field = ""
        var isDescending = false
    }

    var recordType: String
    var zoneName: String
    var filters: [Filter]
    var sorts: [Sort]
    var limit: Int
    /// The marker of the next page; nil for the first.
    var marker: String?

    static let filtersMax = 20
    static let sortsMax = 5
    static let limits = [20, 50, 100, 200]

    /// Reads the fields of the form, or of an address that names a type.
    init(_ fields: FormFields) {
        recordType = fields["type"] ?? ""
        zoneName = fields["zone"] ?? ZoneID.defaultZoneName
        filters = (0..<Self.filtersMax).compactMap { number in
            let filter = Filter(
                field: fields["filter-field-\(number)"] ?? "",
                comparator: fields["filter-comparator-\(number)"] ?? QueryFilter.Comparator.equals.rawValue,
                value: fields.exact("filter-value-\(number)") ?? "")
            return filter.isEmpty ? nil : filter
        }
        sorts = (0..<Self.sortsMax).compactMap { number in
            guard let field = fields["sort-field-\(number)"] else { return nil }
            return Sort(field: field, isDescending: fields["sort-order-\(number)"] == "descending")
        }
        limit = fields["limit"].flatMap { Int($0) }.map { min(max($0, 1), 200) } ?? 50
        marker = fields["marker"]
    }

    /// Returns the request.
    ///
    /// - Throws: `badRequest`, as the API does, and for values that are not of a field's type.
    func request(_ type: RecordTypeDefinition?) throws(RequestFailure) -> QueryRecordsRequest {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("zoneID")
        writer.object { writer in
            writer.key("zoneName")
            writer.string(zoneName)
        }
        writer.key("resultsLimit")
        writer.int64(Int64(limit))
        if let marker {
            writer.key("continuationMarker")
            writer.string(marker)
        }
        writer.key("query")
        writer.beginObject()
        writer.key("recordType")
        writer.string(recordType)
        writer.key("filterBy")
        writer.beginArray()
        for filter in filters { try write(filter, type, to: &writer) }
        writer.endArray()
        writer.key("sortBy")
        writer.array { writer in
            for sort in sorts {
                writer.object { writer in
                    writer.key("fieldName")
                    writer.string(sort.field)
                    writer.key("ascending")
                    writer.bool(!sort.isDescending)
                }
            }
        }
        writer.endObject()
        writer.endObject()
        return try QueryRecordsRequest(wire: writer.bytes, limits: .web)
    }

    private func write(
        _ filter: Filter, _ type: RecordTypeDefinition?, to writer: inout JSONWriter
    ) throws(RequestFailure) {
        let valueType = Self.valueType(of: filter, type)
        let isList =
            ["IN", "NOT_IN"].contains(filter.comparator) || filter.comparator.hasSuffix("_ALL")
            || filter.comparator.hasSuffix("_ANY")
        var text = filter.value
        var distance: Double?
        if filter.comparator == QueryFilter.Comparator.near.rawValue {
            let numbers = text.split(whereSeparator: { $0 == "," || $0.isWhitespace }).compactMap { Double($0) }
            guard numbers.count == 3 else {
                throw RequestFailure(
                    .badRequest, "the value of \(filter.field) cannot be read",
                    remedy: "Write latitude, longitude and metres, such as 52.5, 13.4, 1000.")
            }
            text = "{\"latitude\":\(numbers[0]),\"longitude\":\(numbers[1])}"
            distance = numbers[2]
        }
        let lines = isList ? text.split(separator: "\n").map(String.init) : [text]
        var values: [[UInt8]] = []
        for line in lines { values.append(try Self.json(line, valueType, filter.field)) }
        writer.beginObject()
        if !filter.field.isEmpty {
            writer.key("fieldName")
            writer.string(filter.field)
        }
        writer.key("comparator")
        writer.string(filter.comparator)
        if let distance {
            writer.key("distance")
            writer.double(distance)
        }
        writer.key("fieldValue")
        writer.object { writer in
            writer.key("value")
            if isList {
                writer.array { writer in for value in values { writer.raw(value) } }
            } else {
                writer.raw(values[0])
            }
            writer.key("type")
            writer.string((isList ? valueType.list : valueType).description)
        }
        writer.endObject()
    }

    /// The type of a filter's single values: that of the field or of its elements.
    private static func valueType(of filter: Filter, _ type: RecordTypeDefinition?) -> FieldType {
        switch filter.field {
        case "createdTimestamp", "modifiedTimestamp", "___createTime", "___modTime": return .timestamp
        case "recordName", "___recordID", "": return .string
        case "createdUserRecordName", "modifiedUserRecordName", "share", "parent", "___createdBy", "___modifiedBy",
            "___share", "___parent":
            return .reference
        default:
            let held = type?.fields[filter.field]?.type.base ?? .string
            if filter.comparator == QueryFilter.Comparator.near.rawValue { return .location }
            return FieldType(held)
        }
    }

    private static func json(_ text: String, _ type: FieldType, _ field: String) throws(RequestFailure) -> [UInt8] {
        if type.base == .reference, !text.hasPrefix("{") {
            var writer = JSONWriter()
            writer.object { writer in
                writer.key("recordName")
                writer.string(text)
            }
            return writer.bytes
        }
        return try FieldInput.json(text, type: type, name: field)
    }
}

extension QueryForm {
    /// Returns the fields of the form, filled in.
    func inputs(_ type: RecordTypeDefinition?) -> HTML {
        let names = Self.fieldNames(type)
        let shown = filters + [Filter()]
        return HTML([
            HTML(
                shown.prefix(Self.filtersMax).enumerated().map { number, filter in
                    filterInputs(filter, number, names)
                }),
            sortInputs(names),
            Input.choice(
                "Records", name: "limit", options: Self.limits.map { (String($0), "\($0)") }, selected: String(limit)),
        ])
    }

    private func filterInputs(_ filter: Filter, _ number: Int, _ names: [String]) -> HTML {
        Tag.fieldset {
            Tag.legend("Filter \(number + 1)")
            Input.text(
                "Field", name: "filter-field-\(number)", value: filter.field, suggestions: names)
            Input.choice(
                "Comparison", name: "filter-comparator-\(number)",
                options: QueryFilter.Comparator.allCases.filter { $0 != .never }.map { ($0.rawValue, Self.words($0)) },
                selected: filter.comparator)
            Input.lines(
                "Value", name: "filter-value-\(number)", value: filter.value,
                hint: number == 0 ? "One in each line for lists; latitude, longitude, metres for near." : nil, rows: 1)
        }
    }

    private func sortInputs(_ names: [String]) -> HTML {
        let sort = sorts.first ?? Sort()
        return Tag.fieldset {
            Tag.legend("Order")
            Input.text("Field", name: "sort-field-0", value: sort.field, suggestions: names)
            Input.choice(
                "Direction", name: "sort-order-0", options: [("ascending", "ascending"), ("descending", "descending")],
                selected: sort.isDescending ? "descending" : "ascending")
            if let second = sorts.dropFirst().first ?? (sorts.isEmpty ? nil : Sort()) {
                Input.text("Then", name: "sort-field-1", value: second.field, suggestions: names)
                Input.choice(
                    "Direction", name: "sort-order-1",
                    options: [("ascending", "ascending"), ("descending", "descending")],
                    selected: second.isDescending ? "descending" : "ascending")
            }
        }
    }

    /// Returns hidden fields that ask for the next page of the same query.
    func hiddenInputs(marker: String) -> HTML {
        var fields: [HTML] = [
            Input.hidden("type", recordType), Input.hidden("zone", zoneName), Input.hidden("limit", String(limit)),
            Input.hidden("marker", marker),
        ]
        for (number, filter) in filters.enumerated() {
            fields.append(Input.hidden("filter-field-\(number)", filter.field))
            fields.append(Input.hidden("filter-comparator-\(number)", filter.comparator))
            fields.append(Input.hidden("filter-value-\(number)", filter.value))
        }
        for (number, sort) in sorts.enumerated() {
            fields.append(Input.hidden("sort-field-\(number)", sort.field))
            fields.append(Input.hidden("sort-order-\(number)", sort.isDescending ? "descending" : "ascending"))
        }
        return HTML(fields)
    }

    private static func fieldNames(_ type: RecordTypeDefinition?) -> [String] {
        (type?.fields.keys.sorted() ?? []) + QueryKey.SystemField.allCases.map(\.rawValue)
    }

    private static func words(_ comparator: QueryFilter.Comparator) -> String {
        comparator.rawValue.lowercased().replacing("_", with: " ")
    }
}
