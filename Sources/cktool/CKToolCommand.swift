import ArgumentParser

/// The `cktool` program: schemas and records of a container over HTTP, with the commands of Apple's tool of this name.
@main
struct CKToolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cktool",
        abstract: "CloudKit Command Line Tool, for clouds run with Welkin.",
        discussion: """
            Takes the command lines of Apple's cktool and sends them to the cloud of --endpoint, CLOUDKIT_ENDPOINT, cloudkit.json or the \
            signed-in profile. Commands for schemas need a management token, those for records a user token; a token comes from \
            --token, CLOUDKIT_MANAGEMENT_TOKEN or CLOUDKIT_USER_TOKEN, or save-token. See docs/cktool.md.

            Exit codes: 0 done, 1 the operation failed, 64 wrong usage.
            """,
        subcommands: [
            SaveTokenCommand.self, RemoveTokenCommand.self, GetTeamsCommand.self,
            ExportRemoteSchemaCommand.self, ImportRemoteSchemaCommand.self, ValidateRemoteSchemaCommand.self,
            ResetRemoteSchemaCommand.self,
            DiffRemoteSchemaCommand.self, DeployRemoteSchemaCommand.self,
            GetRolesCommand.self, AddRoleMemberCommand.self, RemoveRoleMemberCommand.self,
            CreateRecordCommand.self, QueryRecordsCommand.self, LookupRecordsCommand.self, UpdateRecordCommand.self,
            DeleteRecordCommand.self, DeleteRecordsCommand.self,
        ])
}
